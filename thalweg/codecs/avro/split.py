"""Where the records of a container's block begin: by the writer's schema alone, since nothing between them says so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from thalweg.arrow.rows import BadValue
from thalweg.codecs.avro.schema import Node, SchemaError, parse
from thalweg.codecs.avro.text import Walker
from thalweg.codecs.avro.wire import Cursor
from thalweg.errors import UserError
from thalweg.ports.codec import Split

if TYPE_CHECKING:
    from collections.abc import Callable

    from thalweg.codecs.avro.wire import Read

    Machine = Callable[[bytes, int], Split]

MAX_EMPTY_RECORDS: Final = 1 << 20
"""Records of no bytes that one block may claim; nothing else bounds them."""
LEFT: Final = "has {} bytes left behind it: the block's count is too small"
MANY: Final = "is one of more records of no bytes than are read ({})"


class Blocks:
    """Splits blocks of any schema, by the reference until ``use`` gives it something faster."""

    def __init__(self) -> None:
        """Know no schema yet."""
        self._nodes: dict[str, Node] = {}
        self._machines: dict[str, Machine] = {}
        self._make: Callable[[Node], Machine] = reference

    def use(self, make: Callable[[Node], Machine]) -> None:
        """Let another way take over, from the next block on; called on any thread."""
        self._make = make
        self._machines = {}

    def split(self, schema: str, block: bytes, count: int) -> Split:
        """Find ``count`` records."""
        machines = self._machines
        machine = machines.get(schema)
        if machine is None:
            machine = machines[schema] = self._make(self._node(schema))
        if count > MAX_EMPTY_RECORDS and count > len(block):
            count, fault = 0, MANY.format(MAX_EMPTY_RECORDS)
            return Split(np.array([0, len(block)], np.int32), fault)
        if not count:
            return Split(np.zeros(1, np.int32)) if not block else Split(np.array([0, len(block)], np.int32), LEFT.format(len(block)))
        return machine(block, count)

    def _node(self, schema: str) -> Node:
        """The parsed schema."""
        if schema not in self._nodes:
            try:
                self._nodes[schema] = parse(schema)
            except SchemaError as e:
                raise UserError(f"the schema in the file's header cannot be read: {e}") from None
        return self._nodes[schema]


def reference(node: Node) -> Machine:
    """Passes over each record in turn."""
    skip = Walker().skip(node)

    def split(block: bytes, count: int) -> Split:
        cursor, ends = Cursor(block), [0]
        for _ in range(count):
            fault = _passed(skip, cursor)
            if fault is not None:
                return Split(np.array([*ends, len(block)], np.int32), fault)
            ends.append(cursor.pos)
        return ended(np.array(ends, np.int32), len(block))

    return split


def ended(offsets: np.ndarray[tuple[int], np.dtype[np.int32]], size: int) -> Split:
    """The records of a block that must end with the last one."""
    left = size - int(offsets[-1])
    if not left:
        return Split(offsets)
    offsets[-1] = size
    return Split(offsets, LEFT.format(left))


def _passed(skip: Read, cursor: Cursor) -> str | None:
    """Pass over one record; why that is not possible."""
    cursor.empties = 0
    try:
        skip(cursor)
    except BadValue as e:
        return f"cannot be read: {e.message}"
    except IndexError:
        return "cannot be read: the block ends inside it"
    except RecursionError:
        return "cannot be read: nested too deep"
    return None
