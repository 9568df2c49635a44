"""The table of SQL type names: which words DataFusion and Flink use, and the Arrow type that each gives."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

SIMPLE: Final[dict[str, pa.DataType]] = {
    **dict.fromkeys(("STRING", "VARCHAR", "TEXT", "CHAR", "CHARACTER", "CHARACTER VARYING", "CHAR VARYING", "NVARCHAR"), pa.string()),
    **dict.fromkeys(("BYTES", "BINARY", "VARBINARY", "BYTEA", "BLOB"), pa.binary()),
    **dict.fromkeys(("BOOLEAN", "BOOL"), pa.bool_()),
    **dict.fromkeys(("TINYINT",), pa.int8()),
    **dict.fromkeys(("SMALLINT", "INT2"), pa.int16()),
    **dict.fromkeys(("INT", "INTEGER", "INT4"), pa.int32()),
    **dict.fromkeys(("BIGINT", "INT8"), pa.int64()),
    **dict.fromkeys(("TINYINT UNSIGNED",), pa.uint8()),
    **dict.fromkeys(("SMALLINT UNSIGNED", "INT2 UNSIGNED"), pa.uint16()),
    **dict.fromkeys(("INT UNSIGNED", "INTEGER UNSIGNED", "INT4 UNSIGNED"), pa.uint32()),
    **dict.fromkeys(("BIGINT UNSIGNED", "INT8 UNSIGNED"), pa.uint64()),
    **dict.fromkeys(("FLOAT", "REAL", "FLOAT4"), pa.float32()),
    **dict.fromkeys(("DOUBLE", "DOUBLE PRECISION", "FLOAT8"), pa.float64()),
    **dict.fromkeys(("DATE",), pa.date32()),
}
"""Names that stand alone; the words of a name are separated by single spaces."""

SEMANTIC: Final[dict[str, tuple[pa.DataType, bytes]]] = {
    "JSON": (pa.string(), b"json"),
    "JSONB": (pa.string(), b"json"),
    "UUID": (pa.binary(16), b"uuid"),
}
"""Names whose meaning is kept as field metadata beside the storage type."""

SEMANTIC_KEY: Final = b"twg:type"

LENGTHS: Final = frozenset(
    {"VARCHAR", "CHAR", "CHARACTER", "CHARACTER VARYING", "CHAR VARYING", "NVARCHAR", "STRING", "TEXT", "VARBINARY", "BYTES", "BLOB"}
)
"""Names that take a length, which is not enforced (said in the plan's notes)."""

FIXED: Final = frozenset({"BINARY"})
"""Names for which a length makes a fixed-size type."""

DECIMALS: Final = frozenset({"DECIMAL", "DEC", "NUMERIC"})

TIMESTAMPS: Final[dict[str, str | None]] = {
    "TIMESTAMP": None,
    "DATETIME": None,
    "TIMESTAMP WITHOUT TIME ZONE": None,
    "TIMESTAMP_NTZ": None,
    "TIMESTAMP_LTZ": "UTC",
    "TIMESTAMPTZ": "UTC",
    "TIMESTAMP WITH TIME ZONE": "UTC",
    "TIMESTAMP WITH LOCAL TIME ZONE": "UTC",
}
"""Timestamp names and the zone of each."""

TIMES: Final = frozenset({"TIME", "TIME WITHOUT TIME ZONE"})

NESTED: Final = frozenset({"ROW", "STRUCT", "ARRAY", "LIST", "MAP"})

REFUSED: Final[dict[str, tuple[str, str]]] = {
    "INTERVAL": ("INTERVAL has no exact counterpart in the formats and files", "declare BIGINT and say the unit in the name"),
    "MULTISET": ("MULTISET is not supported", "declare MAP<type, INT> or ARRAY<type>"),
    "NULL": ("a column of type NULL holds nothing", "declare the type of the field, or leave the column out"),
    "RAW": ("RAW is Flink's own serialisation", "declare BYTES"),
    "ENUM": ("ENUM is not a type here", "declare STRING"),
    "SERIAL": ("SERIAL is for tables that number their rows", "declare INT"),
    "BIGSERIAL": ("BIGSERIAL is for tables that number their rows", "declare BIGINT"),
    "VARIANT": ("VARIANT is not supported", "declare JSON"),
    "TIME WITH TIME ZONE": ("a time of day with a zone is not supported", "declare TIME, or TIMESTAMP_LTZ"),
}
"""Names that are known and refused: the reason and the way out."""

UNITS: Final = {0: "s", 3: "ms", 6: "us", 9: "ns"}
"""Arrow unit for each precision."""

NAMES: Final = tuple(sorted({*SIMPLE, *SEMANTIC, *TIMESTAMPS, *TIMES, *DECIMALS, *NESTED}))

ENGINE: Final[dict[pa.DataType, str]] = {
    pa.string(): "VARCHAR", pa.binary(): "BYTEA", pa.bool_(): "BOOLEAN", pa.int8(): "TINYINT", pa.int16(): "SMALLINT", pa.int32(): "INT",
    pa.int64(): "BIGINT", pa.uint8(): "TINYINT UNSIGNED", pa.uint16(): "SMALLINT UNSIGNED", pa.uint32(): "INT UNSIGNED",
    pa.uint64(): "BIGINT UNSIGNED", pa.float32(): "REAL", pa.float64(): "DOUBLE", pa.date32(): "DATE",
}  # fmt: skip
"""How DataFusion's CREATE statement spells the types that a static table's column list may have."""


def engine_type(kind: pa.DataType) -> str | None:
    """A type in the engine's own spelling; None where its CREATE statement has no such type."""
    spelled = ENGINE.get(kind)
    if pa.types.is_decimal(kind):
        spelled = f"DECIMAL({kind.precision}, {kind.scale})"
    elif pa.types.is_timestamp(kind):
        digits = next(precision for precision, unit in UNITS.items() if unit == kind.unit)
        spelled = f"TIMESTAMP({digits})" + (" WITH TIME ZONE" if kind.tz else "")
    elif pa.types.is_list(kind):
        inner = engine_type(kind.value_type)
        spelled = f"{inner}[]" if inner else None
    elif pa.types.is_struct(kind):
        members = [(field.name.replace('"', '""'), engine_type(field.type)) for field in kind]
        text = ", ".join(f'"{name}" {inner}' for name, inner in members)
        spelled = f"STRUCT<{text}>" if all(inner for _, inner in members) else None
    return spelled
