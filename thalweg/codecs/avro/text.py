"""Avro values passed over, or written as JSON text: for what no column holds and for what lies too deep."""

from __future__ import annotations

import base64
import json
import math
import uuid
from decimal import Context, Decimal
from typing import Any, Final

from thalweg.arrow.rows import LIMIT, BadValue
from thalweg.codecs.avro.schema import Node, min_size
from thalweg.codecs.avro.wire import PRIMITIVES, Cursor, Read, read_blocks, read_bytes, read_index, read_string, take

_EXACT: Final = Context(prec=10_000)
_DECIMAL_BYTES: Final = 1_024


class Walker:
    """Makes functions that pass over a value of a type, or write it; each type once, so that recursive types end."""

    def __init__(self) -> None:
        """Begin with nothing known."""
        self._skips: dict[int, Read] = {}
        self._texts: dict[int, Read] = {}

    def skip(self, node: Node) -> Read:
        """Passes over a value; lengths and counts are checked, text is not."""
        return _memo(self._skips, node, self._skip)

    def text(self, node: Node) -> Read:
        """Writes a value as JSON text: bytes as base64, decimals exact, dates and times as the numbers on the wire."""
        return _memo(self._texts, node, self._text)

    def _skip(self, node: Node) -> Read:
        """A new function to pass over a value."""
        if node.kind == "record":
            return _record_skip([self.skip(f.node) for f in node.fields])
        if node.kind == "union":
            branches = [self.skip(b) for b in node.branches]
            return lambda c: branches[read_index(c, len(branches), "branch")](c)
        if node.kind in {"array", "map"}:
            return _blocks_skip(self.skip(node.item), min_size(node.item), keyed=node.kind == "map")
        if node.kind == "enum":
            return lambda c: read_index(c, len(node.symbols), "symbol")
        if node.kind == "fixed":
            return lambda c: take(c, node.size)
        return read_bytes if node.kind == "string" else PRIMITIVES[node.kind]

    def _text(self, node: Node) -> Read:
        """A new function to write a value."""
        if node.kind == "record":
            return _record_text([(json.dumps(f.name, ensure_ascii=False), self.text(f.node)) for f in node.fields])
        if node.kind == "union":
            branches = [self.text(b) for b in node.branches]
            return lambda c: branches[read_index(c, len(branches), "branch")](c)
        if node.kind == "array":
            return _array_text(self.text(node.item), min_size(node.item))
        if node.kind == "map":
            return _map_text(self.text(node.item), min_size(node.item))
        if node.kind == "enum":
            return lambda c: _dumps(node.symbols[read_index(c, len(node.symbols), "symbol")])
        return _scalar_text(node)


def _memo(known: dict[int, Read], node: Node, make: Any) -> Read:  # noqa: ANN401 - one of the two methods
    """The function of a type; a record that is being made is called through its entry."""
    if node.kind != "record":
        made: Read = make(node)
        return made
    key = id(node)
    if key not in known:

        def later(c: Cursor) -> Any:  # noqa: ANN401 - whatever the function gives
            return known[key](c)

        known[key] = later
        known[key] = make(node)
    return known[key]


def _record_skip(skips: list[Read]) -> Read:
    """Passes over the fields in turn."""

    def skip(c: Cursor) -> None:
        c.enter()
        for each in skips:
            each(c)
        c.leave()

    return skip


def _blocks_skip(item: Read, least: int, *, keyed: bool) -> Read:
    """Passes over the items of an array or map."""

    def entry(c: Cursor) -> None:
        read_bytes(c)
        item(c)

    def skip(c: Cursor) -> None:
        read_blocks(c, least + keyed, entry if keyed else item)

    return skip


def _record_text(members: list[tuple[str, Read]]) -> Read:
    """``{"name":value,...}``."""

    def text(c: Cursor) -> str:
        c.enter()
        out = ",".join([f"{name}:{read(c)}" for name, read in members])
        c.leave()
        return f"{{{out}}}"

    return text


def _array_text(item: Read, least: int) -> Read:
    """``[value,...]``."""

    def text(c: Cursor) -> str:
        out: list[str] = []

        def entry(at: Cursor) -> None:
            out.append(item(at))

        read_blocks(c, least, entry)
        return f"[{','.join(out)}]"

    return text


def _map_text(item: Read, least: int) -> Read:
    """``{"key":value,...}``, the last of several equal keys wins."""

    def text(c: Cursor) -> str:
        out: dict[str, str] = {}

        def entry(at: Cursor) -> None:
            key = read_string(at)
            out[key] = item(at)

        read_blocks(c, least + 1, entry)
        return f"{{{','.join([f'{_dumps(k)}:{v}' for k, v in out.items()])}}}"

    return text


def _scalar_text(node: Node) -> Read:
    """A value without parts."""
    read: Read = (lambda c: take(c, node.size)) if node.kind == "fixed" else PRIMITIVES[node.kind]
    logical = node.logical
    if logical is not None and logical.kind == "decimal":
        return lambda c: _decimal(read(c), logical.scale)
    if logical is not None and logical.kind == "uuid" and node.kind == "fixed":
        return lambda c: f'"{uuid.UUID(bytes=read(c))}"'
    if node.kind in {"bytes", "fixed"}:
        return lambda c: f'"{base64.b64encode(read(c)).decode("ascii")}"'
    if node.kind in {"float", "double"}:
        return lambda c: _float(read(c))
    return lambda c: _dumps(read(c))


def _decimal(data: bytes, scale: int) -> str:
    """A two's complement number, all digits."""
    if len(data) > _DECIMAL_BYTES:
        raise BadValue(LIMIT, f"a decimal of {len(data)} bytes is longer than {_DECIMAL_BYTES}")
    return f"{_EXACT.scaleb(Decimal(int.from_bytes(data, 'big', signed=True)), -scale):f}"


def _float(value: float) -> str:
    """A number; what JSON has no number for as text."""
    return repr(value) if math.isfinite(value) else f'"{value}"'


def _dumps(value: object) -> str:
    """A scalar as JSON."""
    return json.dumps(value, ensure_ascii=False)
