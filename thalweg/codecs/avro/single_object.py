"""Single-object encoding: ``c3 01``, the fingerprint of the writer's schema, the datum; schemas by their fingerprints."""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Final

from thalweg.codecs.avro.schema import Node, SchemaError, parse_registered
from thalweg.errors import SchemaUnknown
from thalweg.ports.schemas import RegisteredSchema, SchemaRegistry

if TYPE_CHECKING:
    from collections.abc import Sequence

MARKER: Final = b"\xc3\x01"
_EMPTY: Final = 0xC15D213AA4D7A795


class Fingerprints(SchemaRegistry):
    """Answers to a fingerprint, sixteen hexadecimal digits, from schemas that were given and those that a registry can list."""

    def __init__(self, given: Sequence[RegisteredSchema], folder: SchemaRegistry | None) -> None:
        """``folder``: asked again whenever a fingerprint is not known yet, since a schema may be added while data flows."""
        self._given, self._folder = given, folder
        self._known: dict[str, RegisteredSchema] = {}
        self._broken: dict[str, str] = {}

    def by_id(self, schema_id: int | str) -> RegisteredSchema:
        """The schema with this fingerprint."""
        if schema_id not in self._known:
            for schema in (*self._given, *(self._folder.schemas() if self._folder is not None else ())):
                self._add(schema)
        if schema_id not in self._known:
            broken = "".join(f"; {name} cannot be read: {why}" for name, why in self._broken.items())
            raise SchemaUnknown(
                f"no known schema has the fingerprint {schema_id}{broken}", hint="copy the writer's schema into 'avro.schema-folder'"
            )
        return self._known[str(schema_id)]

    def latest(self, subject: str) -> RegisteredSchema:
        """There are no subjects."""
        raise SchemaUnknown(f"schemas are known by their fingerprints, not as '{subject}'")

    def register(self, subject: str, schema: RegisteredSchema) -> int:
        """Nothing is written."""
        raise SchemaUnknown(f"the {schema.kind} schema of '{subject}' has a fingerprint, no number")

    def close(self) -> None:
        """The folder is closed by whoever opened it."""

    def _add(self, schema: RegisteredSchema) -> None:
        """Note a schema; one that is no Avro schema has no fingerprint."""
        if schema.kind != "AVRO":
            return
        try:
            self._known[fingerprint(parse_registered(schema)).hex()] = schema
        except SchemaError as e:
            self._broken[str(schema.id)] = str(e)


def prefix(node: Node) -> bytes:
    """The ten bytes before each datum of a schema."""
    return MARKER + fingerprint(node)


def fingerprint(node: Node) -> bytes:
    """CRC-64-AVRO of the schema's Parsing Canonical Form, as it lies on the wire (little-endian)."""
    table, crc = _table(), _EMPTY
    for byte in canonical(node).encode():
        crc = crc >> 8 ^ table[(crc ^ byte) & 0xFF]
    return crc.to_bytes(8, "little")


def canonical(node: Node) -> str:
    """The Parsing Canonical Form: full names, what matters to readers only, in a fixed order, without white space."""
    return _canonical(node, set())


def _canonical(node: Node, seen: set[str]) -> str:
    """A type; a named one in full where it comes first."""
    if node.kind == "union":
        return f"[{','.join(_canonical(b, seen) for b in node.branches)}]"
    if node.kind in {"array", "map"}:
        return f'{{"type":"{node.kind}","{"items" if node.kind == "array" else "values"}":{_canonical(node.item, seen)}}}'
    if node.kind not in {"record", "enum", "fixed"}:
        return f'"{node.kind}"'
    name = _quoted(node.name)
    if node.name in seen:
        return name
    seen.add(node.name)
    if node.kind == "record":
        parts = ",".join(f'{{"name":{_quoted(f.name)},"type":{_canonical(f.node, seen)}}}' for f in node.fields)
        rest = f'"fields":[{parts}]'
    else:
        rest = f'"size":{node.size}' if node.kind == "fixed" else f'"symbols":[{",".join(map(_quoted, node.symbols))}]'
    return f'{{"name":{name},"type":"{node.kind}",{rest}}}'


def _quoted(text: str) -> str:
    """A JSON string whose characters are themselves."""
    return json.dumps(text, ensure_ascii=False)


@functools.cache
def _table() -> tuple[int, ...]:
    """What each byte adds to the CRC."""
    out = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = value >> 1 ^ (_EMPTY if value & 1 else 0)
        out.append(value)
    return tuple(out)
