"""The columns of a batch to the program that writes them, each message from its last field to its first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from google.protobuf.descriptor import FieldDescriptor as F

from thalweg.arrow.temporal import UNITS
from thalweg.codecs.protobuf.declared import Incompatible
from thalweg.codecs.protobuf.forms import DELIMITED, Form, Part
from thalweg.codecs.protobuf.kernel_feeds import DATA, OFFSETS, VALID, Feed
from thalweg.kernels import program as p
from thalweg.kernels import protobuf_encode_ops as op

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thalweg.codecs.protobuf.shapes import Shape
    from thalweg.kernels.memory import Longs

_OPS: Final[dict[int, int]] = {
    **dict.fromkeys((F.TYPE_INT64, F.TYPE_UINT64), op.I64),
    **dict.fromkeys((F.TYPE_DOUBLE, F.TYPE_FIXED64, F.TYPE_SFIXED64), op.X64),
    **dict.fromkeys((F.TYPE_FLOAT, F.TYPE_FIXED32, F.TYPE_SFIXED32), op.X32),
    **dict.fromkeys((F.TYPE_STRING, F.TYPE_BYTES), op.TEXT),
    F.TYPE_INT32: op.I32, F.TYPE_UINT32: op.U32, F.TYPE_BOOL: op.BOOL, F.TYPE_SINT32: op.S32, F.TYPE_SINT64: op.S64, F.TYPE_ENUM: op.ENUM,
}  # fmt: skip
_NANOS: Final = 1_000_000_000


class WriteCompiler:
    """Writes the program of one message and the feeds of its columns."""

    def __init__(self) -> None:
        """Nothing written yet."""
        self.feeds = 0
        self.deepest = 0
        self.paths: list[str] = []
        self._rows: list[list[int]] = []
        self._pointers: list[tuple[int, int, int, int]] = []
        self._aux: list[int] = []
        self._depth = 0

    def root(self, form: Form, shapes: Sequence[Shape]) -> list[Feed]:
        """The program of whole rows; their feeds in the order of the columns. Raises Incompatible."""
        feeds = self._message(form, shapes, "")
        self._row(op.END, "")
        return feeds

    def arrays(self) -> tuple[Longs, Longs, Longs]:
        """Rows, pointers (row, word, feed, address of the feed), and the side table."""
        pointers: Longs = np.array(self._pointers, np.int64).reshape(-1, 4)
        return np.array(self._rows, np.int64).reshape(-1, p.WORDS), pointers, np.array([*self._aux, 0], np.int64)

    def _message(self, form: Form, shapes: Sequence[Shape], path: str) -> list[Feed]:
        """The fields of a message, by descending number."""
        kept = {s.part.index: s for s in shapes}
        for part in form.required:
            if part.index not in kept:
                raise Incompatible(f"message {form.name} requires it, but there is no such column").inside(part.name)
        checks = self._oneofs(form, kept, path)
        feeds: dict[int, Feed] = {}
        begins: dict[int, int] = {}
        for part in sorted(form.parts, key=lambda f: -f.number):
            if part.index in kept:
                begins[part.index] = len(self._rows) * p.WORDS
                shape = kept[part.index]
                feeds[part.index] = self._field(shape, f"{path}.{shape.name}" if path else shape.name)
        for row, members in checks:
            self._rows[row][op.W_EXTRA] = len(self._aux)
            self._aux += [len(members), *(begins[m] for m in members)]
        return [feeds[s.part.index] for s in shapes]

    def _oneofs(self, form: Form, kept: dict[int, Shape], path: str) -> list[tuple[int, list[int]]]:
        """A check for each oneof of which several members are columns."""
        groups = {p.oneof for p in form.parts if p.oneof and sum(i in kept for i in p.oneof) > 1}
        return [(self._row(op.ONEOF, path), [i for i in group if i in kept]) for group in sorted(groups)]

    def _field(self, shape: Shape, path: str) -> Feed:
        """A field, repeated or not."""
        part = shape.part
        if shape.whole:
            raise Incompatible(f"declared as JSON, but a repeated field is written from {'a map' if part.is_map else 'a list'} only")
        if shape.kind not in {"list", "map"}:
            mode = op.NEEDED if part.required else op.EXPLICIT if part.presence else op.IMPLICIT
            return self._value(shape, mode, path)
        feed = self._feed(shape)
        begin = self._row(op.LIST, path, feed=feed, words=((op.W_VALID, VALID), (op.W_OFFS, OFFSETS)))
        self._deeper(1)
        packed = shape.kind == "list" and part.packed
        if shape.kind == "list":
            feed.children = [self._value(shape.children[0], op.BARE if packed else op.NEEDED, path)]
        else:
            feed.children = self._entry(shape, path)
        tag = part.number << 3 | DELIMITED
        self._row(op.PACKED_NEXT if packed else op.LIST_NEXT, path, tag=tag, jump=(begin + 1) * p.WORDS)
        self._deeper(-1)
        self._rows[begin][op.W_NEXT] = len(self._rows) * p.WORDS
        return feed

    def _entry(self, shape: Shape, path: str) -> list[Feed]:
        """An entry of a map: key and value are always written."""
        self._row(op.ENTER, path)
        self._deeper(1)
        value = self._value(shape.children[1], op.NEEDED, path)
        key = self._value(shape.children[0], op.NEEDED, path)
        self._row(op.LEAVE, path, tag=shape.part.number << 3 | DELIMITED)
        self._deeper(-1)
        return [key, value]

    def _value(self, shape: Shape, mode: int, path: str) -> Feed:
        """One value."""
        part, feed = shape.part, self._feed(shape)
        tag = part.number << 3 | part.wire_type
        if shape.kind == "struct":
            assert part.form is not None
            inner, is_group = part.form, part.type == F.TYPE_GROUP
            begin = self._row(op.ENTER_GROUP if is_group else op.ENTER, path, mode, tag=tag, feed=feed, words=((op.W_VALID, VALID),))
            self._deeper(1)
            feed.children = self._message(inner, shape.children, path)
            self._row(op.LEAVE_GROUP if is_group else op.LEAVE, path, tag=tag)
            self._deeper(-1)
            self._rows[begin][op.W_NEXT] = len(self._rows) * p.WORDS
            return feed
        if part.type == F.TYPE_GROUP:
            raise Incompatible(f"a {shape.kind} between tags is not written")
        if shape.kind == "wrapper":
            assert part.form is not None
            begin = self._row(op.ENTER, path, mode, tag=tag, feed=feed, words=((op.W_VALID, VALID),))
            self._deeper(1)
            self._scalar(part.form.parts[0], op.IMPLICIT, feed, path)
            self._row(op.LEAVE, path, tag=tag)
            self._deeper(-1)
            self._rows[begin][op.W_NEXT] = len(self._rows) * p.WORDS
        elif shape.kind in {"timestamp", "duration"}:
            ticks = 10 ** UNITS[shape.unit]
            code = op.TIMESTAMP if shape.kind == "timestamp" else op.DURATION
            self._row(code, path, mode, tag=tag, jump=ticks, extra=_NANOS // ticks, feed=feed, words=((op.W_VALID, VALID), (op.W_DATA, DATA)))
        elif shape.kind == "json":
            words = ((op.W_VALID, VALID), (op.W_DATA, DATA), (op.W_OFFS, OFFSETS))
            self._row(op.TEXT, path, mode, tag=tag, feed=feed, words=words)
        else:
            self._scalar(part, mode, feed, path)
        return feed

    def _scalar(self, part: Part, mode: int, feed: Feed, path: str) -> None:
        """A value without parts."""
        words = ((op.W_VALID, VALID), (op.W_DATA, DATA), (op.W_OFFS, OFFSETS))
        self._row(_OPS[part.type], path, mode, tag=part.number << 3 | part.wire_type, feed=feed, words=words)

    def _feed(self, shape: Shape) -> Feed:
        """A new feed."""
        self.feeds += 1
        return Feed(self.feeds - 1, shape)

    def _row(
        self, code: int, path: str, mode: int = op.IMPLICIT, *, tag: int = 0, jump: int = 0, extra: int = 0, feed: Feed | None = None,
        words: Sequence[tuple[int, int]] = (),
    ) -> int:  # fmt: skip
        """Append a row; its number. ``words`` are those that become addresses of the feed."""
        row = [0] * p.WORDS
        row[op.W_OP], row[op.W_MODE], row[op.W_TAG], row[op.W_NEXT], row[op.W_EXTRA] = code, mode, tag, jump, extra
        self._rows.append(row)
        self.paths.append(path)
        if feed is not None:
            self._pointers += [(len(self._rows) - 1, word, feed.number, field) for word, field in words]
        return len(self._rows) - 1

    def _deeper(self, by: int) -> None:
        """Count the frames on the stack."""
        self._depth += by
        self.deepest = max(self.deepest, self._depth)
