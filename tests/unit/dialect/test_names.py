"""Identifiers as DataFusion folds them, and near misses."""

from __future__ import annotations

import pyarrow as pa
import pytest

from thalweg.dialect.names import did_you_mean, fold, nearest, qualified, quote
from thalweg.engine.session import Session


@pytest.mark.parametrize("written", ["userId", "USER_ID", "Ärger", "ÑANDÚ", "straßE", "İx"])
def test_fold_is_the_engines(written: str) -> None:
    """Unquoted names fold as in DataFusion: ASCII letters only (SQ-05)."""
    session = Session()
    session.declare("t", pa.schema([pa.field(fold(written), pa.int64())]))

    assert session.schema_of(f"SELECT {written} FROM t").names == [fold(written)]


@pytest.mark.parametrize("name", ["userId", "Order", "a.b", "a b", "naïve", 'quo"te', "end"])
def test_quoted_names_reach_the_engine_whole(name: str) -> None:
    """A quoted name is taken as it is, dots, blanks, capitals and keywords included (SQ-05)."""
    session = Session()
    session.declare("t", pa.schema([pa.field(name, pa.int64())]))

    assert session.schema_of(f"SELECT {quote(name)} FROM t").names == [name]


@pytest.mark.parametrize(
    ("parts", "name"),
    [
        (["orders"], "orders"),
        (["public", "orders"], "orders"),
        (["datafusion", "public", "orders"], "orders"),
        (["raw", "orders"], "raw.orders"),
        (["datafusion", "raw", "orders"], "raw.orders"),
        (["datafusion", "orders"], "datafusion.orders"),
        (["elsewhere", "public", "orders"], "elsewhere.public.orders"),
    ],
)
def test_default_catalog_and_schema_are_left_out(parts: list[str], name: str) -> None:
    """One relation has one qualified name however much of it is written."""
    assert qualified(parts) == name


def test_nearest_ignores_case() -> None:
    """A misspelt word is matched whatever its case; a far one is not matched."""
    assert nearest("externl", ["EXTERNAL", "VIEW"]) == "EXTERNAL"
    assert nearest("gopher", ["EXTERNAL", "VIEW"]) is None
    assert did_you_mean("COPPY", ["COPY", "SET"]) == "did you mean COPY?"
    assert did_you_mean("xyz", ["COPY"]) is None
