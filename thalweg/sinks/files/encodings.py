"""Which Parquet encoding each column gets, from a sample of the first rows."""

from __future__ import annotations

import io
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Iterator

ENCODINGS = ("PLAIN", "BYTE_STREAM_SPLIT", "DELTA_BINARY_PACKED", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY")
_FITS = {
    "BYTE_STREAM_SPLIT": frozenset({"INT32", "INT64", "FLOAT", "DOUBLE", "FIXED_LEN_BYTE_ARRAY"}),
    "DELTA_BINARY_PACKED": frozenset({"INT32", "INT64"}),
    "DELTA_LENGTH_BYTE_ARRAY": frozenset({"BYTE_ARRAY"}),
    "DELTA_BYTE_ARRAY": frozenset({"BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"}),
}
SAMPLE_ROWS = 16_384
ENOUGH_ROWS = 1_000
"""A sample of fewer rows decides for one file only."""
_REPEATS = 0.5
_GROWTH = 1.7
"""Distinct values of a sample to those of its first half, below which they come to an end; a key that a few rows share doubles them."""
_EVEN = 0.02
"""How far the distinct values of a quarter of the sample may be from what its halves foretell: then all values come equally often."""
_SEVERAL = 0.8
"""Distinct values that are expected in all, to the values that are there already, below which each comes again."""
_DICTIONARY_BYTES = 3 << 18
"""What a dictionary is expected to take at most; the writer gives it up at 1 MiB."""
_DELTA_BITS = 0.66
_BLOCK = 128
_BLOCK_HEADER_BITS = 0.5
"""What the head of a block adds to each of its values."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Leaf columns, as Parquet paths, by encoding; what is in neither is plain."""

    dictionary: tuple[str, ...]
    encoding: tuple[tuple[str, str], ...]
    plain: tuple[str, ...] = ()

    def __str__(self) -> str:
        """For the log: ``dictionary: a, b; DELTA_BINARY_PACKED: c; plain: d``."""
        groups: dict[str, list[str]] = {"dictionary": list(self.dictionary)}
        for path, name in self.encoding:
            groups.setdefault(name, []).append(path)
        groups["plain"] = groups.get("plain", []) + list(self.plain)
        return "; ".join(f"{name}: {', '.join(paths)}" for name, paths in groups.items() if paths)


def leaf_paths(schema: pa.Schema) -> list[str]:
    """Parquet's path of every leaf column, depth first."""
    return [leaf.path for leaf in _parquet_leaves(schema)]


def leaf_types(schema: pa.Schema) -> list[str]:
    """Parquet's physical type of every leaf column, depth first."""
    return [leaf.physical_type for leaf in _parquet_leaves(schema)]


def fits(encoding: str, physical: str) -> bool:
    """Whether a physical type can have an encoding."""
    return physical in _FITS.get(encoding, frozenset({physical}))


def choose(sample: pa.Table, dictionary: str, encoding: str) -> Choice:
    """Look at a sample and at the ``parquet.dictionary`` and ``parquet.encoding`` options, which win."""
    wanted = named_encodings(encoding)
    leaves = dict(zip(leaf_paths(sample.schema), _leaves(sample.slice(0, SAMPLE_ROWS)), strict=True))
    more = max(1.0, sample.num_rows / SAMPLE_ROWS)
    repeated, chosen, plain = [], [], []
    for path, values in leaves.items():
        explicit = _lookup(path, wanted)
        if explicit:
            chosen.append((path, explicit))
        elif _wants_dictionary(path, values, dictionary, more):
            repeated.append(path)
        elif encoding == "auto" and is_close(values):
            chosen.append((path, "DELTA_BINARY_PACKED"))
        else:
            plain.append(path)
    return Choice(tuple(repeated), tuple(chosen), tuple(plain))


def named_encodings(option: str) -> dict[str, str]:
    """``id=DELTA_BINARY_PACKED, note=PLAIN`` as a mapping. Raises ValueError where it cannot be read."""
    if option.strip().lower() in {"auto", "plain", ""}:
        return {}
    out = {}
    for pair in option.split(","):
        column, equals, name = (p.strip() for p in pair.partition("="))
        if not equals or not column or name.upper() not in ENCODINGS:
            message = f"expected auto, plain or pairs such as id=DELTA_BINARY_PACKED (one of {', '.join(ENCODINGS)}), found {pair.strip()!r}"
            raise ValueError(message)
        out[column] = name.upper()
    return out


def named_dictionaries(option: str) -> list[str]:
    """Column names in ``parquet.dictionary``; empty for the three words."""
    return [] if option.strip().lower() in {"auto", "all", "none", ""} else [c.strip() for c in option.split(",") if c.strip()]


def repeats(values: pa.Array, more: float = 1.0) -> bool:
    """Whether a dictionary is smaller than the values, and than deltas where those are possible. The first file has ``more`` times as many."""
    rows = len(values) - values.null_count
    if rows < 2:  # noqa: PLR2004 - one value says nothing
        return True
    distinct = float(_distinct(values))
    if distinct > rows * _REPEATS or _grows(values, distinct):
        rows, distinct = int(rows * more), _foretold(values, distinct)
        if distinct > rows * _SEVERAL or distinct * values.nbytes / len(values) > _DICTIONARY_BYTES:
            return False
    deltas = delta_bits(values)
    return deltas is None or (int(distinct) - 1).bit_length() + distinct / rows * values.type.bit_width <= deltas


def _foretold(values: pa.Array, distinct: float) -> float:
    """How many distinct values there are in all, if they are finitely many and come equally often; infinite where the sample does not look so.

    Of D such values a sample of n has D * (1 - exp(-n / D)), so the whole and its halves tell D, and a quarter whether that is believable.
    """
    half, quarter = (_distinct(values.slice(0, len(values) // part)) for part in (2, 4))
    ratio = distinct / max(half, 1) - 1
    if not 0 < ratio < 1:
        return math.inf
    share = -2 * math.log(ratio)
    found = distinct / -math.expm1(-share)
    return found if abs(found * -math.expm1(-share / 4) - quarter) <= _EVEN * quarter else math.inf


def _distinct(values: pa.Array) -> int:
    """Distinct values; NULL is none."""
    return int(pc.count_distinct(values, mode="only_valid").as_py())


def _grows(values: pa.Array, distinct: float) -> bool:
    """Whether more rows bring more values without an end: then a dictionary fills up, and each value was looked up for nothing."""
    return distinct > ENOUGH_ROWS and distinct > _GROWTH * _distinct(values.slice(0, len(values) // 2))


def is_close(values: pa.Array) -> bool:
    """Whether differences of neighbours need clearly fewer bits than the numbers do."""
    bits = delta_bits(values)
    return bits is not None and bits <= max(values.type.bit_width, 32) * _DELTA_BITS


def delta_bits(values: pa.Array) -> float | None:
    """Bits that a number takes as a difference from its neighbour, by blocks as Parquet packs them; None for other types."""
    numbers = _as_int64(values)
    if numbers is None or len(numbers) < 2:  # noqa: PLR2004 - a difference needs two
        return None
    steps = np.diff(numbers)
    blocks = [steps[i: i + _BLOCK] for i in range(0, len(steps), _BLOCK)]
    return float(np.mean([(int(b.max()) - int(b.min())).bit_length() for b in blocks])) + _BLOCK_HEADER_BITS


def _wants_dictionary(path: str, values: pa.Array, option: str, more: float) -> bool:
    """What the option says, else what the sample says."""
    word = option.strip().lower()
    if pa.types.is_boolean(values.type):
        return False
    if word in {"all", "none"}:
        return word == "all"
    names = named_dictionaries(option)
    if names:
        return any(path == n or path.startswith(n + ".") for n in names)
    return pa.types.is_dictionary(values.type) or repeats(values, more)


def _lookup(path: str, wanted: dict[str, str]) -> str | None:
    """The encoding that was asked for, for the leaf itself or for the column it lies in."""
    for name, encoding in wanted.items():
        if path == name or path.startswith(name + "."):
            return encoding
    return None


def _leaves(table: pa.Table) -> Iterator[pa.Array]:
    """Values of every leaf column, depth first."""
    for column in table.columns:
        yield from _leaves_of(_one_array(column))


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    """A chunked column as one array."""
    return pa.concat_arrays(column.unify_dictionaries().chunks) if column.num_chunks else pa.array([], column.type)


def _leaves_of(values: pa.Array) -> Iterator[pa.Array]:
    """Leaves of one array; what is under a NULL is left out."""
    kind = values.type
    if isinstance(kind, pa.BaseExtensionType):
        yield from _leaves_of(values.storage)
    elif pa.types.is_struct(kind):
        for child in values.flatten():
            yield from _leaves_of(child)
    elif pa.types.is_map(kind):
        yield from _leaves_of(values.keys)
        yield from _leaves_of(values.items)
    elif pa.types.is_nested(kind):
        yield from _leaves_of(values.flatten())
    else:
        yield values


def _as_int64(values: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.int64]] | None:
    """The numbers as Parquet stores them, NULLs left out; None for other types."""
    t, kind = pa.types, values.type
    if not (t.is_integer(kind) or t.is_timestamp(kind) or t.is_time(kind) or t.is_date32(kind) or t.is_duration(kind)):
        return None
    valid = values.drop_null()
    if not t.is_integer(kind):
        valid = valid.view(pa.int64() if kind.bit_width == 64 else pa.int32())  # noqa: PLR2004 - the storage width
    return np.asarray(valid.to_numpy(zero_copy_only=False), dtype=np.int64)


def _parquet_leaves(schema: pa.Schema) -> list[Any]:
    """Leaf columns as Parquet sees them."""
    sink = io.BytesIO()
    pq.ParquetWriter(sink, schema).close()
    leaves = pq.ParquetFile(pa.BufferReader(sink.getvalue())).schema
    return [leaves.column(i) for i in range(len(leaves))]
