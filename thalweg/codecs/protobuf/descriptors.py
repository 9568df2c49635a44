"""Schemas to message types: descriptor sets, ``.proto`` texts with their references, and the messages in them by name or index."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from google.protobuf import (
    any_pb2,
    api_pb2,
    descriptor_pb2,
    descriptor_pool,
    duration_pb2,
    empty_pb2,
    field_mask_pb2,
    source_context_pb2,
    struct_pb2,
    timestamp_pb2,
    type_pb2,
    wrappers_pb2,
)
from google.protobuf.message import DecodeError

from thalweg.arrow.rows import bounded, shown_path
from thalweg.codecs.protobuf.map_entries import marked, restored
from thalweg.native.protoc import ProtoError, compile_protos, imports, is_bundled, set_of_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from google.protobuf.descriptor import Descriptor
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    from thalweg.codecs.protobuf.framing import Place
    from thalweg.ports.schemas import RegisteredSchema

_WELL_KNOWN: Final = (
    any_pb2, api_pb2, descriptor_pb2, duration_pb2, empty_pb2, field_mask_pb2, source_context_pb2, struct_pb2, timestamp_pb2, type_pb2,
    wrappers_pb2,
)  # fmt: skip
_ROOT: Final = "thalweg_root.proto"
"""The name of a registered text that has none."""
_GOOGLE: Final = "google/protobuf/"
_SHOWN: Final = 20


class DescriptorError(Exception):
    """A schema that cannot be read, or a message that is not in it."""


@dataclass(frozen=True, slots=True)
class MessageSet:
    """Message types that can be found by name, and those of the root file by index."""

    messages: dict[str, Descriptor]
    """Every message of the given files by full name, nested ones after the ones that hold them."""
    roots: tuple[Descriptor, ...]
    """Top-level messages of the root file in its order; of all files where there is no root."""

    def find(self, name: str | None) -> Descriptor:
        """The message with this full name, or the only one whose full name ends with it (`Inner`, `Outer.Inner`). Raises DescriptorError.

        None: the only one there is, those of files that others import aside.
        """
        if name is None:
            imported = {file.name for message in self.roots for file in message.file.dependencies}
            found = [m for m in self.roots if m.file.name not in imported]
            if len(found) == 1:
                return found[0]
            raise DescriptorError(f"there are {len(found) or 'no'} messages: {_listed([m.full_name for m in found])}")
        exact = self.messages.get(name.removeprefix("."))
        if exact is not None:
            return exact
        found = [m for full, m in self.messages.items() if full.endswith(f".{name}")]
        if len(found) == 1:
            return found[0]
        if found:
            raise DescriptorError(f"there are several messages '{bounded(name)}': {_listed([m.full_name for m in found])}")
        own = [full for full, m in self.messages.items() if not m.file.name.startswith(_GOOGLE)] or list(self.messages)
        near = difflib.get_close_matches(name.lower(), [n for full in own for n in {full.lower(), full.lower().rpartition(".")[2]}], n=1)
        meant = [full for full in own if near and near[0] in {full.lower(), full.lower().rpartition(".")[2]}]
        mean = f"did you mean '{bounded(meant[0])}'?" if meant else f"known are {_listed(own)}"
        raise DescriptorError(f"there is no message '{bounded(name)}'; {mean}")

    def at(self, place: Place) -> Descriptor:
        """The message that framing names. Raises DescriptorError."""
        if isinstance(place, int):
            return self._numbered(place)
        return self._called(place) if isinstance(place, str) else self._indexed(place)

    def _numbered(self, number: int) -> Descriptor:
        """As AWS Glue counts them."""
        ordered = glue_order(self.roots)
        if number >= len(ordered):
            raise DescriptorError(f"the schema has no message with index {number} of its {len(ordered)} messages")
        return ordered[number]

    def _called(self, name: str) -> Descriptor:
        """As Apicurio names them: a short name means a message at the top of the file before any inside another."""
        top = next((m for m in self.roots if m.name == name), None)
        return self.find(name) if top is None else top

    def _indexed(self, indexes: Sequence[int]) -> Descriptor:
        """As Confluent names them: a path of indexes."""
        level: Sequence[Descriptor] = self.roots
        found = None
        for index in indexes:
            if index >= len(level):
                raise DescriptorError(f"the schema has no message at index {list(indexes)}")
            found = level[index]
            level = list(found.nested_types)
        if found is None:
            raise DescriptorError("an empty path of indexes names no message")
        return found


def glue_order(roots: Sequence[Descriptor]) -> list[Descriptor]:
    """All messages of a file as AWS Glue numbers them: by full name, with those inside others and the entries of maps."""
    found = list(roots)
    for message in found:
        found += message.nested_types
    return sorted(found, key=lambda m: m.full_name)


def indexes_of(message: Descriptor) -> list[int]:
    """Where a message is in its file: the index of each level."""
    path = []
    while message.containing_type is not None:
        path.append(next(i for i, m in enumerate(message.containing_type.nested_types) if m.full_name == message.full_name))
        message = message.containing_type
    path.append(next(i for i, m in enumerate(message.file.message_types_by_name.values()) if m.full_name == message.full_name))
    return path[::-1]


def messages_of(schema: RegisteredSchema) -> MessageSet:
    """The messages of a registered schema. Raises DescriptorError, and MissingExtra where a text needs the compiler."""
    try:
        data = set_of_text(schema.text)
        if data is not None:
            return messages_of_set(data)
        texts, root = _texts(schema)
        compiled = compile_protos({name: marked(text) for name, text in texts.items()}, [root])
        return messages_of_set(restored(compiled), root)
    except ProtoError as e:
        raise DescriptorError(str(e)) from None


def messages_of_set(data: bytes, root: str | None = None) -> MessageSet:
    """The messages of a serialised ``FileDescriptorSet``; ``root`` names the file whose messages have indexes. Raises DescriptorError."""
    try:
        files = {f.name: f for f in descriptor_pb2.FileDescriptorSet.FromString(data).file}
    except DecodeError:
        raise DescriptorError("this is no Protobuf descriptor set") from None
    given = list(files) if root is None else [root]
    for module in _WELL_KNOWN:
        known = descriptor_pb2.FileDescriptorProto.FromString(module.DESCRIPTOR.serialized_pb)
        files.setdefault(known.name, known)
    pool = descriptor_pool.DescriptorPool()
    try:
        for file in _sorted(files):
            pool.AddSerializedFile(file.SerializeToString())
    except TypeError as e:
        raise DescriptorError(f"the descriptor set is wrong: {shown_path(str(e))}") from None
    found = [pool.FindFileByName(name) for name in given]
    own = [m for file in found for m in file.message_types_by_name.values() if root is not None or not file.name.startswith(_GOOGLE)]
    everywhere = [m for name in files for m in pool.FindFileByName(name).message_types_by_name.values()]
    return MessageSet({m.full_name: m for top in [*own, *everywhere] for m in _nested(top)}, tuple(own))


def _sorted(files: dict[str, FileDescriptorProto]) -> Iterator[FileDescriptorProto]:
    """Every file after those that it imports."""
    done: set[str] = set()
    for name in files:
        stack = [name]
        while stack:
            top = stack[-1]
            missing = [d for d in files[top].dependency if d not in done]
            if top in done or not missing:
                stack.pop()
                if top not in done:
                    done.add(top)
                    yield files[top]
                continue
            lost = next((d for d in missing if d not in files), None)
            if lost is not None:
                raise DescriptorError(f"'{bounded(top)}' imports '{bounded(lost)}', which is not in the set; make it with --include_imports")
            if missing[0] in stack:
                raise DescriptorError(f"the files import each other: {bounded(' -> '.join(stack))}")
            stack.append(missing[0])


def _nested(message: Descriptor) -> Iterator[Descriptor]:
    """A message and those inside it, map entries aside."""
    yield message
    for inner in message.nested_types:
        if not inner.GetOptions().map_entry:
            yield from _nested(inner)


def _texts(schema: RegisteredSchema) -> tuple[dict[str, str], str]:
    """The texts of a schema and its references by the names that imports use, and the name of the root.

    One schema may be imported under several names: it is defined once, and its other names import it publicly. Where one name means
    two versions, the one that is nearer to the root counts.
    """
    root = _free_name({name for name, _ in schema.references})
    texts = {root: schema.text}
    homes: dict[str, str] = {}
    known: dict[str, str] = {}
    pending = list(schema.references)
    for name, found in pending:
        if found.kind != "PROTOBUF":
            raise DescriptorError(f"the reference '{bounded(name)}' is {found.kind}, not Protobuf")
        if name.startswith(_GOOGLE) or name in texts:
            continue
        home = known[name] = homes.setdefault(found.text, name)
        texts[name] = found.text if home == name else f'syntax = "proto3";\nimport public "{home}";\n'
        pending += found.references
    for lost in sorted({i for text in list(texts.values()) for i in imports(text)} - set(texts)):
        if not is_bundled(lost):
            texts[lost] = f'syntax = "proto3";\nimport public "{_meant(lost, known)}";\n'
    return texts, root


def _free_name(taken: set[str]) -> str:
    """A name for the root that no reference has."""
    name = _ROOT
    while name in taken:
        name = f"_{name}"
    return name


def _meant(wanted: str, known: dict[str, str]) -> str:
    """The reference that an import means although it is named otherwise: the only one with the same file name. Raises DescriptorError.

    ``known``: references by name, each with the name under which its text stands.
    """
    stem = wanted.rpartition("/")[2].removesuffix(".proto")
    found = {home for name, home in known.items() if name.rpartition("/")[2].removesuffix(".proto") == stem}
    if len(found) != 1:
        raise DescriptorError(f"'{bounded(wanted)}' is imported, but no reference has that name; there are {_listed(sorted(known))}")
    return found.pop()


def _listed(names: Sequence[str]) -> str:
    """A few names."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return (", ".join(bounded(n) for n in names[:_SHOWN]) or "none") + more
