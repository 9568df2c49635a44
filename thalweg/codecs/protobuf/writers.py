"""Whether what one schema wrote can be read by another: fields go by number, and their types must mean the same or more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from google.protobuf.descriptor import FieldDescriptor as F

from thalweg.codecs.protobuf.declared import Incompatible

if TYPE_CHECKING:
    from thalweg.codecs.protobuf.forms import Form, Part

_WIDER: Final[dict[int, frozenset[int]]] = {
    F.TYPE_INT32: frozenset({F.TYPE_INT64}),
    F.TYPE_ENUM: frozenset({F.TYPE_INT32, F.TYPE_INT64}),
    F.TYPE_UINT32: frozenset({F.TYPE_UINT64, F.TYPE_INT64}),
    F.TYPE_BOOL: frozenset({F.TYPE_INT32, F.TYPE_INT64, F.TYPE_UINT32, F.TYPE_UINT64}),
    F.TYPE_SINT32: frozenset({F.TYPE_SINT64}),
    F.TYPE_STRING: frozenset({F.TYPE_BYTES}),
    F.TYPE_BYTES: frozenset({F.TYPE_STRING}),
}
"""What a written type may also be read as; bytes as text are checked to be UTF-8."""


def check_writer(writer: Form, reader: Form) -> None:
    """Raises Incompatible where a field that both have is written as something that the reader would take for another value."""
    _check(writer, reader, set())


def _check(writer: Form, reader: Form, seen: set[tuple[str, str]]) -> None:
    """One pair of messages; a pair that is being checked already is taken as good."""
    if writer is reader or (writer.name, reader.name) in seen:
        return
    seen.add((writer.name, reader.name))
    for part in writer.parts:
        wanted = reader.by_number.get(part.number)
        if wanted is None:
            continue
        try:
            _part(part, wanted, seen)
        except Incompatible as e:
            raise e.inside(part.name) from None


def _part(written: Part, read: Part, seen: set[tuple[str, str]]) -> None:
    """One field."""
    if written.is_map != read.is_map:
        raise Incompatible("is a map in one schema and none in the other")
    if written.repeated and not read.repeated:
        raise Incompatible("is written repeated, but read as one value")
    if written.form is not None and read.form is not None and written.type == read.type:
        _check(written.form, read.form, seen)
        return
    if written.form is not None or read.form is not None:
        raise Incompatible("is a message in one schema, and another type or encoding in the other")
    if written.type != read.type and read.type not in _WIDER.get(written.type, frozenset()):
        raise Incompatible(f"is written as {_name(written)}, which cannot be read as {_name(read)}")


def _name(part: Part) -> str:
    """A type as schemas write it."""
    return next(n for n in dir(F) if n.startswith("TYPE_") and getattr(F, n) == part.type).removeprefix("TYPE_").lower()
