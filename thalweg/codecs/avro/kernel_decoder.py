"""Avro payloads to a batch by the kernel: a program once for each pair of schemas, then a code a row."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from thalweg.arrow.builders import Finisher, table_of
from thalweg.arrow.kernel_rows import KernelRows, payload_views, readonly
from thalweg.arrow.rows import LIMIT, MALFORMED, TYPE
from thalweg.codecs.avro.kernel_program import Emitter
from thalweg.codecs.avro.kernel_slots import Columns, Target, TextFault
from thalweg.codecs.avro.match import Incompatible
from thalweg.codecs.avro.resolve import Resolver
from thalweg.codecs.avro.schema import Node, parse
from thalweg.codecs.avro.straight import Written
from thalweg.codecs.avro.table import VALUE, record_root
from thalweg.codecs.avro.types import Unfolding
from thalweg.kernels import avro, avro_ops
from thalweg.kernels import program as p
from thalweg.kernels.arena import Arena, Sizes

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    import numpy.typing as npt

    from thalweg.kernels.memory import Longs

_REASONS: Final = {
    p.NULL_ROW: (MALFORMED, "there is no payload"),
    p.MALFORMED: (MALFORMED, "the bytes end early, or a length, a count or a number cannot be"),
    p.TRAILING: (MALFORMED, "bytes are left after the datum"),
    p.LIMIT: (LIMIT, "more items of no bytes, or deeper recursion, than is read"),
    p.TYPE: (TYPE, "the value has no place in the reader's type"),
    p.BRANCH: (MALFORMED, "branch {detail} is out of range"),
    p.SYMBOL: (MALFORMED, "symbol {detail} is out of range"),
    p.UTF8: (MALFORMED, "the text is not UTF-8"),
    p.RANGE: (TYPE, "the number is out of range"),
    p.TEXT: (TYPE, "the text is no UUID"),
}


class Unsupported(Exception):
    """Schemas that only the reference decoder resolves."""


@dataclass(slots=True)
class Texts:
    """Types of the values that became JSON text in one batch, told when the batch is whole: a part of it may be decoded twice."""

    on_text: Callable[[str], None] | None
    seen: list[str] = field(default_factory=list)

    def tell(self) -> None:
        """Say them all."""
        if self.on_text is not None:
            for name in self.seen:
                self.on_text(name)
        self.seen.clear()


class AvroProgram:
    """Decodes what one writer's schema wrote. Used by one thread at a time.

    ``schema`` is the schema of every batch; ``cuts`` has a line for each record that lies too deep and becomes JSON text.
    """

    def __init__(
        self, schema: pa.Schema, writer: Node, root: Target, wanted: list[int] | None, cuts: tuple[str, ...] = (), texts: Texts | None = None
    ) -> None:
        """``root`` holds the targets of all of the schema's columns; ``wanted``: the numbers of those that are kept."""
        self.cuts = cuts
        self._texts = texts or Texts(None)
        fields = root.slots.children if wanted is not None else (root.slots,)
        kept = range(len(fields)) if wanted is None else wanted
        stored = [fields[i] for i in kept]
        self.schema = pa.schema([schema.field(i) for i in kept], schema.metadata)
        if wanted is not None:
            root.slots.number = 0
        self._table = table_of(stored, nullable=wanted is not None and root.slots.valid)
        self._finisher = Finisher(self.schema, stored, self._table)
        emitter = Emitter(self._table[:, p.C_COUNT].tolist(), self._table[:, p.C_TAG].tolist())
        self._program = emitter.program(writer, root)
        self._aux: Longs = np.array([*emitter.aux, 0], np.int64)
        self._paths = emitter.paths
        self._stack: Longs = np.zeros(emitter.stack_words + 3 * int((self._table[:, p.C_KIND] == p.UNION).sum()), np.int64)
        ops = self._program[:, p.P_OP] & avro_ops.OPS
        empties = (self._program[:, p.P_ARG] == 0) & ((ops == avro_ops.LIST) | (ops == avro_ops.LIST_END))
        self._room = p.ROOM + (avro_ops.MAX_EMPTY_ITEMS if empties.any() else 0)
        self._has_maps = bool((ops == avro_ops.MAP_END).any())
        self._sizes = Sizes(self._table)
        self.written = Written(self._program)

    @property
    def steps(self) -> Longs:
        """The program, int64[m, WORDS], not linked."""
        return self._program

    def decode(self, payloads: pa.BinaryArray, skip_bytes: int | npt.NDArray[np.int32] = 0) -> KernelRows:
        """Decode each payload after ``skip_bytes`` bytes of framing, one number or one a row. A bad row costs itself."""
        try:
            found = self._decode(payloads, skip_bytes, self._program.copy())
        except TextFault:
            self._texts.seen.clear()
            careful = self._program.copy()
            marks = careful[:, p.P_OP] & avro_ops.OPS == avro_ops.MARK
            careful[marks, p.P_OP], careful[marks, p.P_ARG] = avro_ops.FAIL, p.SLOW
            found = self._decode(payloads, skip_bytes, careful)
        except MemoryError:
            self._texts.seen.clear()
            raise
        self._texts.tell()
        self.written.count(len(payloads))
        return found

    def _decode(self, payloads: pa.BinaryArray, skip_bytes: int | npt.NDArray[np.int32], program: Longs) -> KernelRows:
        """Run a program over the payloads. Raises TextFault where kept bytes cannot be written as text."""
        src, offs, present = payload_views(payloads)
        rows, longest = len(payloads), int(np.diff(offs).max(initial=0))
        arena = Arena(self._table, *self._sizes.guess(rows, int(offs[-1]) - int(offs[0]), longest + self._room))
        seen = np.zeros(1 << max(2 * longest, 16).bit_length() if self._has_maps else 1, np.int32)
        skips = readonly(np.atleast_1d(np.asarray(skip_bytes, np.int32)))
        codes, faults, good = np.zeros(rows, np.uint8), np.empty(rows * avro_ops.FAULT, np.int64), np.empty(rows, np.int32)
        state, saved = np.array([0, 0, self._room], np.int64), np.zeros_like(arena.counters)
        while True:
            arena.link(program)
            flat = program.reshape(-1)
            straight = self.written.words(self._room, (src, offs, skips, present, flat, arena.h8, good))
            done = avro.decode(
                src, offs, skips, present, flat, self._aux, arena.cols, arena.counters, saved, arena.used, arena.used_bytes,
                self._stack, seen, arena.h8, arena.h32, arena.h64, arena.f32, arena.f64, state, codes, faults, good, straight,
            )  # fmt: skip
            if straight.size and straight[avro_ops.A_OUTSIDE]:
                raise IndexError("an index is out of bounds in the code of an Avro program")
            if done == rows:
                break
            if not arena.grow(int(state[avro_ops.S_OUT]), rows, int(offs[done + 1] - offs[done]) + self._room):
                codes[done], faults[done * avro_ops.FAULT : (done + 1) * avro_ops.FAULT] = p.LIMIT, 0
                state[avro_ops.S_ROW] += 1
        count = int(state[avro_ops.S_OUT])
        arena.measure(count)
        self._sizes.learn(count, arena.used, arena.used_bytes)
        batch = self._finisher.batch(arena, count)
        found = faults.reshape(-1, avro_ops.FAULT)
        return KernelRows(batch, good[:count], codes, *(found[:, i] for i in range(avro_ops.FAULT)))

    def reason(self, found: KernelRows, row: int) -> tuple[str, str, str | None]:
        """Code, message and path of a bad row."""
        code, message = _REASONS[int(found.codes[row])]
        path = self._paths[int(found.places[row])] or None
        text = message.format(detail=int(found.details[row]))
        return code, f"{path}: {text} (byte {int(found.positions[row])})" if path else f"{text} (byte {int(found.positions[row])})", path


def compile_decoder(
    writer: Node | dict[str, Any] | list[Any] | str,
    reader: Node | dict[str, Any] | list[Any] | str | None = None,
    *,
    declared: pa.Schema | None = None,
    max_depth: int = 24,
    union: str = "dense",
    enum: str = "dictionary",
    wanted: Collection[str] | None = None,
    missing_is_null: bool = False,
    on_text: Callable[[str], None] | None = None,
) -> AvroProgram:
    """The program that reads what ``writer`` wrote, as ``reader`` means it (None: as it was written).

    ``declared``: the columns, None for all of the reader's schema; then ``max_depth`` records inside records become columns (deeper ones JSON
    text), ``union`` is ``dense`` or ``struct``, ``enum`` is ``dictionary`` or ``number``. ``wanted``: the columns to keep; the others are checked as
    if they were read, and dropped. ``missing_is_null``: a declared column that the reader's schema does not have is NULL. ``on_text`` is told the
    type of each value that became JSON text.

    Raises:
        SchemaError: No Avro schema, or one that unfolds too far.
        Incompatible: The schemas do not resolve, or a declared column cannot hold what is written.
        Unsupported: The kernel does not resolve them; the reference decoder does.
    """
    written = _node(writer)
    meant = written if reader is None else _node(reader)
    unfolding = Unfolding(max_depth, union)
    schema = declared if declared is not None else _unfold(unfolding, meant, enum)
    flat = record_root(meant) is not None
    column = pa.field("", pa.struct(list(schema))) if flat else schema.field(0)
    if enum == "dictionary":
        Resolver(missing_is_null=missing_is_null, declared=declared is not None).read(written, meant, column)
    kept = [i for i, name in enumerate(schema.names) if wanted is None or name in wanted] if flat else None
    texts = Texts(on_text)
    try:
        root = Columns(missing_is_null=missing_is_null, on_text=None if on_text is None else texts.seen.append).target([written], meant, column)
        return AvroProgram(schema, written, root, kept, tuple(unfolding.cuts), texts)
    except Incompatible as e:
        raise Unsupported(f"{e.where}: {e.message}") from None


def unfolded(node: Node, *, max_depth: int, union: str, enum: str) -> pa.Schema:
    """All columns of a schema."""
    return _unfold(Unfolding(max_depth, union), node, enum)


def _unfold(unfolding: Unfolding, node: Node, enum: str) -> pa.Schema:
    """All columns of a schema; the unfolding notes what is cut."""
    root = record_root(node)
    fields = [unfolding.arrow_field(VALUE, node)] if root is None else [unfolding.arrow_field(f.name, f.node, (root,)) for f in root.fields]
    return pa.schema([_numbered(f) for f in fields] if enum == "number" else fields)


def _node(schema: Node | dict[str, Any] | list[Any] | str) -> Node:
    """Parsed nodes of a schema in any form."""
    if isinstance(schema, Node):
        return schema
    return parse(schema if isinstance(schema, str) else json.dumps(schema))


def _numbered(column: pa.Field) -> pa.Field:
    """The field with numbers for symbols."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return column.with_type(pa.int32())
    if pa.types.is_map(kind):
        return column.with_type(pa.map_(kind.key_type, _numbered(kind.item_field)))
    if pa.types.is_list(kind):
        return column.with_type(pa.list_(_numbered(kind.value_field)))
    children = [_numbered(kind.field(i)) for i in range(kind.num_fields)]
    if pa.types.is_struct(kind):
        return column.with_type(pa.struct(children))
    return column.with_type(pa.dense_union(children, kind.type_codes)) if pa.types.is_union(kind) else column
