"""The table of names, and the engine's spelling of types."""

from __future__ import annotations

import pyarrow as pa
import pytest

from thalweg.engine.session import Session
from thalweg.plan import type_names
from thalweg.plan.type_names import engine_type


@pytest.mark.parametrize(
    "kind",
    [
        *type_names.ENGINE, pa.decimal128(10, 2), pa.decimal256(60, 5), pa.timestamp("s"), pa.timestamp("ns"), pa.timestamp("us", "UTC"),
        pa.list_(pa.int32()), pa.struct([("a b", pa.int32()), ('c"', pa.list_(pa.string()))]),
    ],
    ids=str,
)  # fmt: skip
def test_the_engine_reads_its_own_spelling(kind: pa.DataType) -> None:
    """A cast to the spelled type gives the type; text and bytes may come as views."""
    spelled = engine_type(kind)
    assert spelled is not None

    found = Session().schema_of(f"SELECT CAST(NULL AS {spelled}) AS x").field("x").type

    assert str(found).replace("_view", "").replace("+00:00", "UTC") == str(kind)


@pytest.mark.parametrize("kind", [pa.time32("s"), pa.map_(pa.string(), pa.int32()), pa.binary(16), pa.list_(pa.time64("us")), pa.struct([("a", pa.null())])])
def test_types_that_the_engine_cannot_declare(kind: pa.DataType) -> None:
    """Where its CREATE statement has no such type there is no spelling."""
    assert engine_type(kind) is None


def test_every_name_is_listed_once() -> None:
    """The list that a hint offers has every name, sorted, and none that is refused."""
    assert list(type_names.NAMES) == sorted(set(type_names.NAMES))
    assert not set(type_names.NAMES) & set(type_names.REFUSED)
