"""The slow twin of the Avro kernels: the reference decoder, row by row, and arrays as plain values to compare."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.types as kinds

from thalweg.arrow.rows import BadValue, RowCollector
from thalweg.codecs.avro.decoder import _datum
from thalweg.codecs.avro.kernel_decoder import unfolded
from thalweg.codecs.avro.kernel_feeds import union_slots
from thalweg.codecs.avro.resolve import Resolver
from thalweg.codecs.avro.table import record_root
from thalweg.codecs.avro.types import column
from thalweg.codecs.avro.wire import Cursor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thalweg.arrow.batch import Decoded
    from thalweg.codecs.avro.schema import Node


def reference(writer: Node, reader: Node, payloads: Sequence[bytes], *, max_depth: int = 24, union: str = "dense") -> Decoded:
    """What the reference decoder makes of each payload."""
    schema = unfolded(reader, max_depth=max_depth, union=union, enum="dictionary")
    root = record_root(reader)
    nodes = [reader] if root is None else [f.node for f in root.fields]
    target = schema.field(0) if root is None else pa.field("", pa.struct(list(schema)))
    read = Resolver().read(writer, reader, target)
    rows = RowCollector(schema, [column(f, n) for f, n in zip(schema, nodes, strict=True)])
    for row, payload in enumerate(payloads):
        try:
            value = _datum(read, Cursor(payload))
        except BadValue as e:
            rows.reject(row, e)
            continue
        rows.add(row, (value,) if root is None else (None,) * len(schema) if value is None else value)
    return rows.finish()


def plain(array: pa.Array) -> list[Any]:
    """Values to compare: integers for clocks, text for floats (every NaN the same); below a NULL struct all must be NULL."""
    kind = array.type
    if kinds.is_struct(kind) or kinds.is_union(kind):
        return _plain_struct(array) if kinds.is_struct(kind) else _plain_union(array)
    if kinds.is_map(kind) or kinds.is_list(kind):
        items = list(zip(plain(array.keys), plain(array.items), strict=True)) if kinds.is_map(kind) else plain(array.values)
        valid = array.is_valid().to_pylist()
        return [items[a:b] if v else None for (a, b), v in zip(itertools.pairwise(array.offsets.to_pylist()), valid, strict=True)]
    if kinds.is_floating(kind):
        return ["nan" if v is not None and math.isnan(v) else repr(v) for v in array.to_pylist()]
    if kinds.is_temporal(kind) and not kinds.is_interval(kind):
        return list(array.view(pa.int32() if kind.bit_width == 32 else pa.int64()).to_pylist())
    return list(array.to_pylist())


def _plain_struct(array: pa.StructArray) -> list[Any]:
    """Tuples of the children's values."""
    valid = array.is_valid().to_pylist()
    children = [plain(array.field(i)) for i in range(array.type.num_fields)]
    for child in children:
        assert all(v or c in (None, "None") or _is_union_null(c) for v, c in zip(valid, child, strict=True)), "a child of a NULL is not NULL"
    return [tuple(c[i] for c in children) if v else None for i, v in enumerate(valid)]


def _plain_union(array: pa.UnionArray) -> list[Any]:
    """``("branch", number, value)``."""
    children = [plain(array.field(i)) for i in range(array.type.num_fields)]
    places = {code: i for i, code in enumerate(array.type.type_codes)}
    tags, offsets = union_slots(array)
    return [("branch", places[c], children[places[c]][o]) for c, o in zip(tags.tolist(), offsets.tolist(), strict=True)]


def _is_union_null(value: Any) -> bool:  # noqa: ANN401 - any plain value
    """A union has no NULL of its own: one of its children does."""
    return isinstance(value, tuple) and len(value) == 3 and value[0] == "branch" and (value[2] in (None, "None") or _is_union_null(value[2]))


def plain_rows(batch: pa.RecordBatch) -> list[tuple[Any, ...]]:
    """The rows of a batch as plain values."""
    columns = [plain(c) for c in batch.columns]
    return [tuple(c[i] for c in columns) for i in range(batch.num_rows)]
