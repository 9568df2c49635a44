"""Arrow columns as plain values: what JSON can say, nothing rounded and nothing dropped."""

from __future__ import annotations

import base64
import json
import math
import uuid
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from thalweg.cli.render import printable

if TYPE_CHECKING:
    from collections.abc import Callable

Plain = None | bool | int | float | str | list[Any] | dict[str, Any]


def hexadecimal(value: bytes) -> str:
    r"""``\x0aff``, as PostgreSQL writes bytes."""
    return r"\x" + value.hex()


def base64_text(value: bytes) -> str:
    """Base64, as JSON usually carries bytes."""
    return base64.b64encode(value).decode("ascii")


def plain(column: pa.Array, binary: Callable[[bytes], str]) -> list[Plain]:
    """Every value of a column; decimals, times and numbers that are none (``NaN``) become text, a map with text keys an object."""
    kind = column.type
    if isinstance(column, pa.ExtensionArray):
        return _extension(column, binary)
    for applies, read in _SHAPES:
        if applies(kind):
            return read(column, binary)
    return [_loose(value, binary) for value in column.to_pylist()]


def shown(value: Plain) -> str:
    """One value in a table: ``NULL`` for none, JSON for nested ones, nothing that could move the cursor."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | dict):
        return printable(json.dumps(value, ensure_ascii=False))
    return printable(str(value))


def _loose(value: Any, binary: Callable[[bytes], str]) -> Plain:  # noqa: ANN401 - whatever pyarrow gives
    """A Python value as JSON can say it."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
    if isinstance(value, bytes):
        return binary(value)
    if isinstance(value, list | tuple):
        return [_loose(v, binary) for v in value]
    if isinstance(value, dict):
        return {str(k): _loose(v, binary) for k, v in value.items()}
    return str(value)


def _dictionary(column: pa.DictionaryArray, binary: Callable[[bytes], str]) -> list[Plain]:
    """The values themselves."""
    return plain(column.dictionary_decode(), binary)


def _union(column: pa.UnionArray, binary: Callable[[bytes], str]) -> list[Plain]:
    """Whichever branch each row has."""
    return [_loose(scalar.as_py(), binary) for scalar in column]


def _temporal(column: pa.Array, _binary: Callable[[bytes], str]) -> list[Plain]:
    """ISO texts with as many decimals as the type has; a duration is a number with its unit."""
    kind = column.type
    if pa.types.is_duration(kind):
        return [None if n is None else f"{n} {kind.unit}" for n in column.cast(pa.int64()).to_pylist()]
    if pa.types.is_interval(kind):
        return [None if v is None else f"{v.months} months {v.days} days {v.nanoseconds} ns" for v in column.to_pylist()]
    texts = column.cast(pa.string()).to_pylist()
    if pa.types.is_timestamp(kind):
        return [None if t is None else t.replace(" ", "T", 1) for t in texts]
    return list(texts)


def _extension(column: pa.ExtensionArray, binary: Callable[[bytes], str]) -> list[Plain]:
    """A UUID as people write it; the storage of anything else."""
    if column.type.extension_name == "arrow.uuid":
        return [None if v is None else str(uuid.UUID(bytes=v)) for v in column.storage.to_pylist()]
    return plain(column.storage, binary)


def _struct(column: pa.StructArray, binary: Callable[[bytes], str]) -> list[Plain]:
    """An object for each row."""
    names = [field.name for field in column.type]
    parts = [plain(part, binary) for part in column.flatten()]
    valid = column.is_valid().to_pylist()
    return [{name: part[i] for name, part in zip(names, parts, strict=True)} if valid[i] else None for i in range(len(column))]


def _list(column: pa.Array, binary: Callable[[bytes], str]) -> list[Plain]:
    """A list for each row."""
    valid, lengths = column.is_valid().to_pylist(), column.value_lengths().to_pylist()
    values = plain(column.flatten(), binary)
    out: list[Plain] = []
    at = 0
    for there, length in zip(valid, lengths, strict=True):
        out.append(values[at : at + length] if there else None)
        at += length if there else 0
    return out


def _map(column: pa.MapArray, binary: Callable[[bytes], str]) -> list[Plain]:
    """An object where the keys are text and each is there once, else a list of pairs."""
    begin, end = column.offsets[0].as_py(), column.offsets[-1].as_py()
    keys, values = plain(column.keys[begin:end], binary), plain(column.items[begin:end], binary)
    offsets = [at - begin for at in column.offsets.to_pylist()]
    as_text = pa.types.is_string(column.type.key_type) or pa.types.is_large_string(column.type.key_type)
    out: list[Plain] = []
    for i, there in enumerate(column.is_valid().to_pylist()):
        pairs = list(zip(keys[offsets[i] : offsets[i + 1]], values[offsets[i] : offsets[i + 1]], strict=True))
        named = {str(key): value for key, value in pairs}
        whole: Plain = named if as_text and len(named) == len(pairs) else [list(pair) for pair in pairs]
        out.append(whole if there else None)
    return out


_SHAPES: Final[tuple[tuple[Callable[[pa.DataType], bool], Callable[[Any, Callable[[bytes], str]], list[Plain]]], ...]] = (
    (pa.types.is_dictionary, _dictionary),
    (pa.types.is_struct, _struct),
    (pa.types.is_map, _map),
    (pa.types.is_list, _list),
    (pa.types.is_large_list, _list),
    (pa.types.is_fixed_size_list, _list),
    (pa.types.is_union, _union),
    (pa.types.is_temporal, _temporal),
)
