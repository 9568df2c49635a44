"""The splitter of blocks as a kernel: a program once for a schema, then one call a block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from thalweg.arrow.kernel_rows import readonly
from thalweg.codecs.avro.schema import Node, min_size
from thalweg.codecs.avro.split import ended, reference
from thalweg.kernels import avro_split
from thalweg.kernels import avro_split_ops as op
from thalweg.ports.codec import Split

if TYPE_CHECKING:
    from collections.abc import Callable

_SIMPLE: Final = {
    "boolean": (op.BOOLEAN, 0), "int": (op.INT, 0), "long": (op.LONG, 0), "float": (op.FIXED, 4), "double": (op.FIXED, 8),
    "bytes": (op.BYTES, 0), "string": (op.BYTES, 0),
}  # fmt: skip
_NEST: Final = 200
"""Lists inside lists that one record of a schema can have, as deep as schemas nest."""


def machine(node: Node) -> Callable[[bytes, int], Split]:
    """Splits blocks of one schema; a fault is told in the words of the reference."""
    program, table = _Compiler().program(node)
    stack = np.zeros(op.BOTTOM + (op.MAX_RECORDS + 1) * (1 + _NEST * op.LIST_FRAME), np.int64)
    slow = reference(node)

    def split(block: bytes, count: int) -> Split:
        offsets = np.empty(count + 1, np.int32)
        found = avro_split.split(readonly(np.frombuffer(block, np.uint8)), count, program, table, stack, offsets)
        if found == count:
            return ended(offsets, len(block))
        start = int(offsets[found])
        rest = slow(block[start:], 1)
        offsets = np.append(offsets[: found + 1], np.int32(len(block)))
        return Split(offsets, rest.fault or "cannot be read")

    return split


class _Compiler:
    """Instructions of one schema; each record once, so that recursive ones end."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._code: list[int] = []
        self._table: list[int] = []
        self._records: dict[int, int] = {}
        self._waiting: list[tuple[int, Node]] = []

    def program(self, node: Node) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], np.ndarray[tuple[int], np.dtype[np.int64]]]:
        """The whole program and the table of branches."""
        self._emit(node)
        self._add(op.STOP)
        while self._waiting:
            call, record = self._waiting.pop()
            if id(record) not in self._records:
                self._records[id(record)] = len(self._code)
                for field in record.fields:
                    self._emit(field.node)
                self._add(op.RETURN)
            self._code[call + 1] = self._records[id(record)]
        return np.array(self._code, np.int64), np.array([*self._table, 0], np.int64)

    def _add(self, code: int, first: int = 0, second: int = 0) -> int:
        """One instruction; where it lies."""
        self._code += [code, first, second]
        return len(self._code) - op.SIZE

    def _emit(self, node: Node) -> None:
        """Instructions that pass over a value."""
        if node.kind == "record":
            self._waiting.append((self._add(op.CALL), node))
        elif node.kind == "union":
            self._union(node)
        elif node.kind in {"array", "map"}:
            self._list(node, keyed=node.kind == "map")
        elif node.kind == "enum":
            self._add(op.CHOICE, len(node.symbols))
        elif node.kind == "fixed":
            self._add(op.FIXED, node.size)
        elif node.kind != "null":
            self._add(*_SIMPLE[node.kind])

    def _union(self, node: Node) -> None:
        """A branch, then on behind all of them."""
        first = len(self._table)
        self._add(op.UNION, first, len(node.branches))
        self._table += [0] * len(node.branches)
        jumps = []
        for i, branch in enumerate(node.branches):
            self._table[first + i] = len(self._code)
            self._emit(branch)
            jumps.append(self._add(op.JUMP))
        for jump in jumps:
            self._code[jump + 1] = len(self._code)

    def _list(self, node: Node, *, keyed: bool) -> None:
        """Items, each with its key before it in a map."""
        self._add(op.LIST)
        again = self._add(op.NEXT, min_size(node.item) + keyed)
        if keyed:
            self._add(op.BYTES)
        self._emit(node.item)
        self._add(op.JUMP, again)
        self._code[again + 2] = len(self._code)
