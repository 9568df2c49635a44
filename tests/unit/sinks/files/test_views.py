"""Types without views."""

from __future__ import annotations

import pyarrow as pa
import pytest

from thalweg.sinks.files.views import plain, plain_schema

TEXT, BYTES = pa.string_view(), pa.binary_view()
CASES: dict[str, tuple[pa.DataType, pa.DataType, list[object]]] = {
    "text": (TEXT, pa.string(), ["a", None, "", "x" * 40]),
    "bytes": (BYTES, pa.binary(), [b"a", None, b"\xff" * 40]),
    "list": (pa.list_(TEXT), pa.list_(pa.string()), [["a", None], None, [], ["b" * 40]]),
    "large": (pa.large_list(BYTES), pa.large_list(pa.binary()), [[b"a", None], None, []]),
    "fixed": (pa.list_(TEXT, 2), pa.list_(pa.string(), 2), [["a", None], None, ["b", "c"]]),
    "struct": (
        pa.struct([pa.field("t", TEXT), pa.field("b", BYTES, nullable=False), pa.field("n", pa.list_view(pa.int8()))]),
        pa.struct([pa.field("t", pa.string()), pa.field("b", pa.binary(), nullable=False), pa.field("n", pa.list_view(pa.int8()))]),
        [{"t": "x", "b": b"1", "n": [1]}, None, {"t": None, "b": b"2", "n": None}],
    ),
    "map": (pa.map_(TEXT, BYTES), pa.map_(pa.string(), pa.binary()), [[("a", b"1"), ("b", None)], None, []]),
    "deep": (
        pa.list_(pa.struct([("m", pa.map_(TEXT, pa.list_(BYTES)))])), pa.list_(pa.struct([("m", pa.map_(pa.string(), pa.list_(pa.binary())))])),
        [[{"m": [("k", [b"1", None])]}, None], None, []],
    ),
    "extension": (pa.json_(TEXT), pa.string(), ["{}", None, "[1]"]),
}


@pytest.mark.parametrize("name", CASES)
def test_arrow_casts_to_the_plain_type(name: str) -> None:
    """Each nesting has a plain type, and Arrow casts whole arrays, slices and empty ones to it without a change of the values."""
    kind, wanted, values = CASES[name]
    whole = pa.array(values * 2, kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind)
    whole = pa.ExtensionArray.from_storage(kind, whole) if isinstance(kind, pa.BaseExtensionType) else whole

    assert plain(kind) == wanted
    for array in (whole, whole[1:], whole[len(values) - 1 : len(values) + 1], whole[:0]):
        cast = array.cast(wanted)
        cast.validate(full=True)
        assert cast.to_pylist() == array.to_pylist()


@pytest.mark.parametrize("kind", [
    pa.int8(), pa.struct([]), pa.uuid(), pa.list_view(pa.string()), pa.map_("string", "int8", keys_sorted=True), pa.list_(pa.uuid(), 3),
    pa.dictionary(pa.int8(), pa.string()), pa.list_(pa.field("element", pa.int8(), nullable=False, metadata={"a": "b"})),
], ids=str)  # fmt: skip
def test_other_types_stay(kind: pa.DataType) -> None:
    """What has no views comes back equal, down to names, nullability and metadata of what is inside."""
    assert plain(kind).equals(kind, check_metadata=True)


def test_schemas_keep_what_is_not_a_type() -> None:
    """Names, nullability and metadata of columns and schema stay."""
    schema = pa.schema([pa.field("a", TEXT, nullable=False, metadata={"x": "y"}), pa.field("b", pa.int8())], {"m": "n"})
    wanted = pa.schema([pa.field("a", pa.string(), nullable=False, metadata={"x": "y"}), pa.field("b", pa.int8())], {"m": "n"})

    assert plain_schema(schema).equals(wanted, check_metadata=True)
