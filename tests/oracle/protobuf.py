"""The slow twins of the Protobuf kernel: the reference decoder row by row, and Google's runtime for the reference decoder itself."""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.types as kinds

from thalweg.codecs.protobuf.decoder import ProtobufDecoder
from thalweg.codecs.protobuf.descriptors import messages_of_set
from thalweg.codecs.protobuf.forms import END_GROUP
from thalweg.codecs.protobuf.kernel_decoder import compile_decoder
from thalweg.codecs.protobuf.options import ProtobufOptions
from thalweg.codecs.protobuf.oracle import Parser, State
from thalweg.codecs.protobuf.table import Table, table_of_message
from thalweg.codecs.protobuf.wire import read_tag, skip
from thalweg.model import options
from thalweg.native.protoc import compile_protos
from thalweg.ports.codec import DecodeRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from google.protobuf.descriptor import Descriptor

    from thalweg.arrow.batch import Decoded
    from thalweg.codecs.protobuf.forms import Form, Part


def table(message: Descriptor, declared: pa.Schema | None = None, **values: str) -> Table:
    """The columns of a message; options without their prefix, ``max_depth`` for ``decode.max_depth``."""
    keys = {"decode.max_depth" if k == "max_depth" else f"protobuf.{k}": v for k, v in values.items()}
    found, errors = options.read(ProtobufOptions, keys)
    assert not errors, errors
    return table_of_message(DecodeRequest("protobuf", declared, found, "t", "_twg_"), message)


def reference(of: Table, payloads: Sequence[bytes]) -> Decoded:
    """What the reference decoder makes of each payload."""
    return ProtobufDecoder(of, None).decode(pa.array(payloads, pa.binary()), None)


def plain(value: Any) -> Any:  # noqa: ANN401 - a number, or whatever else a field holds
    """A value that can be compared: NaN is a word, a negative zero too."""
    return repr(value) if isinstance(value, float) else value


def plain_rows(batch: pa.RecordBatch) -> list[tuple[Any, ...]]:
    """The rows of a batch as plain values."""
    columns = [_plain_column(c) for c in batch.columns]
    return [tuple(c[i] for c in columns) for i in range(batch.num_rows)]


def _plain_column(array: pa.Array) -> list[Any]:
    """Integers for clocks, text for floats; below a NULL struct all must be NULL."""
    kind = array.type
    valid = array.is_valid().to_pylist()
    if kinds.is_struct(kind):
        children = [_plain_column(array.field(i)) for i in range(kind.num_fields)]
        for child in children:
            assert all(v or c is None for v, c in zip(valid, child, strict=True)), "a child of a NULL is not NULL"
        return [tuple(c[i] for c in children) if v else None for i, v in enumerate(valid)]
    if kinds.is_map(kind) or kinds.is_list(kind):
        items = list(zip(_plain_column(array.keys), _plain_column(array.items), strict=True)) if kinds.is_map(kind) else _plain_column(array.values)
        return [items[a:b] if v else None for (a, b), v in zip(itertools.pairwise(array.offsets.to_pylist()), valid, strict=True)]
    if kinds.is_temporal(kind):
        return list(array.view(pa.int64()).to_pylist())
    return [plain(v) for v in array.to_pylist()]


class Watching(Parser):
    """A parser that notices what Google's Python runtime hides: map entries with unknown fields (PB-06)."""

    hidden = False

    def _message(self, form: Form, src: bytes, p: int, end: int, level: int, state: State, group: int) -> int:
        if form.is_entry:
            at = p
            while at < end:
                tag, at = read_tag(src, at, end)
                part = form.by_number.get(tag >> 3)
                if part is None or tag & 7 != part.wire_type or (part.enum is not None and part.enum.closed):
                    self.hidden = True
                if tag & 7 == END_GROUP:
                    break
                if tag & 7 == 3:
                    break
                at = skip(src, at, end, tag, level)
        return super()._message(form, src, p, end, level, state, group)


def state_of(form: Form, message: Any) -> State:  # noqa: ANN401 - the library has no types
    """What Google's runtime read, as the reference decoder says it; fields without presence are never None."""
    out: State = []
    for part in form.parts:
        field = message.DESCRIPTOR.fields_by_number.get(part.number)
        if field is None:
            extension = message.DESCRIPTOR.file.pool.FindExtensionByNumber(message.DESCRIPTOR, part.number)
            is_set = extension.is_repeated or message.HasExtension(extension)
            value = message.Extensions[extension] if is_set else None
        else:
            is_set = not part.presence or message.HasField(field.name)
            value = getattr(message, field.name) if is_set else None
        out.append(None if value is None else _value(part, value))
    return out


def _value(part: Part, value: Any) -> Any:  # noqa: ANN401 - the library has no types
    """One field."""
    if part.is_map:
        assert part.form is not None
        inner = part.form.parts[1]
        return {k: state_of(inner.form, v) if inner.form is not None else plain(v) for k, v in value.items()}
    if part.repeated:
        return [state_of(part.form, v) if part.form is not None else plain(v) for v in value]
    return state_of(part.form, value) if part.form is not None else plain(value)


def normal(form: Form, state: State) -> State:
    """The reference decoder's state, with defaults where a field has no presence."""
    out: State = []
    for part in form.parts:
        value = state[part.index]
        if value is None:
            out.append({} if part.is_map else [] if part.repeated else plain(part.default) if not part.presence else None)
        elif part.is_map:
            assert part.form is not None
            inner = part.form.parts[1].form
            out.append({k: normal(inner, v) if inner is not None else plain(v) for k, v in value.items()})
        elif part.repeated:
            out.append([normal(part.form, v) if part.form is not None else plain(v) for v in value])
        else:
            out.append(normal(part.form, value) if part.form is not None else plain(value))
    return out


@functools.cache
def message(text: str, name: str) -> Descriptor:
    """A message of a ``.proto`` text."""
    return messages_of_set(compile_protos({"x.proto": text}, ["x.proto"]), "x.proto").find(name)


def decoded(of: Table, payload: bytes) -> dict[str, Any] | str:
    """The row that both decoders make of a payload, or the code of why not; a row that the kernel leaves aside counts as read."""
    slow = reference(of, [payload])
    program = compile_decoder(of)
    found = program.decode(pa.array([payload], pa.binary()))
    found.batch.validate(full=True)
    said: dict[str, Any] | str = slow.bad.codes[0] if slow.bad.codes else slow.batch.to_pylist()[0]
    if not len(found.slow):
        assert (program.reason(found, 0)[0] if len(found.bad) else found.batch.to_pylist()[0]) == said
    return said


def is_slow(of: Table, payload: bytes) -> bool:
    """Whether the kernel leaves a payload to the reference decoder."""
    return bool(len(compile_decoder(of).decode(pa.array([payload], pa.binary())).slow))
