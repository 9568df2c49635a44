"""What can be said about a target before anything is opened."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING

import pyarrow as pa

from thalweg.ports.sink import Guarantee
from thalweg.sinks.files import encodings, layout
from thalweg.sinks.files.partitions import is_partitionable
from thalweg.sinks.files.views import plain, plain_schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from thalweg.ports.sink import Target
    from thalweg.sinks.files.options import FileOptions

_LEVELS = {"zstd": (1, 22), "gzip": (1, 9)}
_REFUSED = (
    (pa.types.is_interval, "keep the parts as numbers or cast it to text"),
    (pa.types.is_run_end_encoded, "cast it to its value type"),
    (pa.types.is_null, "give it a type, such as cast(NULL AS VARCHAR)"),
)


_LEVELS_INSIDE = 98
"""Structs, and twice the lists and maps, around a value that Parquet's readers still open."""


def guarantee(target: Target) -> Guarantee:
    """The publish log works on a local file system; objects are written at least once."""
    return Guarantee.EXACTLY_ONCE if layout.is_local(target.location) else Guarantee.AT_LEAST_ONCE


def check(target: Target) -> list[str]:
    """Everything that is wrong with the location, the options and the columns."""
    out = list(_location(target.location)) + list(_options(target.options))
    if target.schema is not None:
        out += _columns(target.schema)
        out += _partition_columns(target.schema, target.partition_by)
        if not out:
            out += _option_columns(target.options, target.schema)
    return out


def fingerprint(schema: pa.Schema) -> str:
    """16 hex digits that change with names, types and order of the columns in the files."""
    return hashlib.sha256(plain_schema(schema).remove_metadata().serialize().to_pybytes()).hexdigest()[:16]


def unholdable(kind: pa.DataType, path: str) -> Iterator[str]:
    """Why Parquet cannot hold a column of this type, with the path of the part that is at fault."""
    t = pa.types
    if isinstance(kind, pa.BaseExtensionType):
        yield from unholdable(kind.storage_type, path)
    elif t.is_dictionary(kind):
        if t.is_nested(kind.value_type) or t.is_string_view(kind.value_type) or t.is_binary_view(kind.value_type):
            yield f"column {path!r}: Parquet cannot hold a dictionary of {kind.value_type}; cast it"
        else:
            yield from unholdable(kind.value_type, path)
    elif t.is_struct(kind):
        yield from _struct(kind, path)
    elif t.is_map(kind):
        yield from unholdable(kind.key_type, f"{path}.key")
        yield from unholdable(kind.item_type, f"{path}.value")
    elif (t.is_list_view(kind) or t.is_large_list_view(kind)) and plain(kind.value_type) != kind.value_type:
        # Arrow's casts of list views lose NULLs and slices, so what is in one cannot be made plain
        yield f"column {path!r}: Parquet cannot hold {kind}; cast what is in it, as in arrow_cast({path}, 'List(Utf8)')"
    elif t.is_list(kind) or t.is_large_list(kind) or t.is_fixed_size_list(kind) or t.is_list_view(kind) or t.is_large_list_view(kind):
        yield from unholdable(kind.value_type, f"{path}[]")
    elif t.is_union(kind):
        branch = next((f.name for f in map(kind.field, range(kind.num_fields)) if not t.is_null(f.type)), "branch")
        instead = f"read the table with 'avro.union' 'struct', or take its branches with union_extract({path}, '{branch}')"
        yield f"column {path!r}: Parquet cannot hold {kind}; {instead}"
    elif advice := _advice(kind):
        yield f"column {path!r}: Parquet cannot hold {kind}; {advice}"


def _struct(kind: pa.StructType, path: str) -> Iterator[str]:
    """Fields of a struct, which must have some, with names of their own."""
    fields = [kind.field(i) for i in range(kind.num_fields)]
    if not fields:
        yield f"column {path!r}: Parquet cannot hold a struct without fields; leave it out"
    for name, count in Counter(f.name for f in fields).items():
        if count > 1:
            yield f"column {path!r}: the field {name!r} is there {count} times; rename one"
    for field in fields:
        yield from unholdable(field.type, f"{path}.{field.name}")


def _advice(kind: pa.DataType) -> str | None:
    """What to do instead with a type that is refused."""
    for refused, advice in _REFUSED:
        if refused(kind):
            return advice
    if pa.types.is_fixed_size_binary(kind) and kind.byte_width == 0:
        return "leave it out"
    if pa.types.is_decimal(kind) and not 0 <= kind.scale <= kind.precision:
        return f"cast it to decimal({min(kind.precision + abs(kind.scale), 76)}, {max(kind.scale, 0)})"
    return None


def _location(location: str) -> Iterator[str]:
    """What is wrong with the location."""
    if not layout.is_local(location):
        return
    try:
        layout.local_path(location)
    except ValueError as e:
        yield str(e)


def _options(options: FileOptions) -> Iterator[str]:
    """What is wrong with options together."""
    level = options.compression_level
    if level is not None:
        low, high = _LEVELS.get(options.compression, (0, 0))
        if not high:
            yield f"option 'compression.level' needs 'compression' zstd or gzip, not {options.compression}"
        elif not low <= level <= high:
            yield f"option 'compression.level': {options.compression} has the levels {low} to {high}, found {level}"
    try:
        encodings.named_encodings(options.encoding)
    except ValueError as e:
        yield f"option 'parquet.encoding': {e}"


def _option_columns(options: FileOptions, schema: pa.Schema) -> Iterator[str]:
    """Columns that options name and the relation has not, and encodings that do not fit their types."""
    paths = encodings.leaf_paths(schema)
    types = encodings.leaf_types(schema)
    named = [("parquet.dictionary", n, "") for n in encodings.named_dictionaries(options.dictionary)]
    named += [("parquet.encoding", n, e) for n, e in encodings.named_encodings(options.encoding).items()]
    for key, name, encoding in named:
        found = [at for at, path in enumerate(paths) if path == name or path.startswith(name + ".")]
        if not found:
            yield f"option '{key}': there is no column {name!r}; columns: {', '.join(paths)}"
        for at in found:
            if encoding and not encodings.fits(encoding, types[at]):
                yield f"option '{key}': {encoding} does not fit column {paths[at]!r}, which Parquet stores as {types[at]}"


def _columns(schema: pa.Schema) -> Iterator[str]:
    """Columns that Parquet cannot hold, by name."""
    if not len(schema):
        yield "the relation has no columns"
    for name, count in Counter(schema.names).items():
        if count > 1:
            yield f"column {name!r} is there {count} times; give each its own name with AS"
    for field in schema:
        yield from unholdable(field.type, field.name)
        levels = _levels(field.type)
        if levels > _LEVELS_INSIDE:
            advice = "lower 'decode.max_depth', or select less of it"
            yield f"column {field.name!r} is nested {levels} levels deep, and Parquet's readers open {_LEVELS_INSIDE}; {advice}"


def _levels(kind: pa.DataType) -> int:
    """Groups of Parquet around the innermost value: one for a struct, two for a list or map."""
    if isinstance(kind, pa.BaseExtensionType):
        return _levels(kind.storage_type)
    if pa.types.is_map(kind):
        return 2 + max(_levels(kind.key_type), _levels(kind.item_type))
    if not pa.types.is_nested(kind):
        return 0
    return (1 if pa.types.is_struct(kind) else 2) + max((_levels(kind.field(i).type) for i in range(kind.num_fields)), default=0)


def _partition_columns(schema: pa.Schema, columns: tuple[str, ...]) -> Iterator[str]:
    """What is wrong with PARTITIONED BY."""
    for name, count in Counter(columns).items():
        if count > 1:
            yield f"PARTITIONED BY names {name!r} {count} times"
        if name not in schema.names:
            yield f"PARTITIONED BY column {name!r} is not in the relation; columns: {', '.join(schema.names)}"
        elif name.startswith(("_", ".")):
            yield (
                f"PARTITIONED BY column {name!r}: readers take folders whose names begin with '_' or '.' for hidden and skip their rows; "
                "name it otherwise, with AS in the query that is copied, or as a METADATA FROM column of CREATE EXTERNAL TABLE"
            )
        elif not is_partitionable(schema.field(name).type):
            yield (
                f"PARTITIONED BY column {name!r} is {schema.field(name).type}, which has no short exact text; "
                "use text, whole numbers, booleans, dates, timestamps or decimals"
            )
