"""Which columns of a source are read, by queries and targets alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.unit.plan.conftest import Planner

TABLE = """CREATE EXTERNAL TABLE t (a INT, b STRING, c DOUBLE %s, k STRING) STORED AS KAFKA LOCATION 'kafka://h:9092/t'
OPTIONS ('format' 'json', 'key.format' 'raw', 'key.fields' 'k');
"""


def copy(query: str, target: str = "out") -> str:
    """A target."""
    return f"COPY {query} TO './{target}/' STORED AS PARQUET;"


@pytest.mark.parametrize(
    ("statements", "wanted"),
    [
        (copy("(SELECT a FROM t)"), {"a"}),
        (copy("(SELECT k FROM t WHERE c > 1)"), {"k", "c"}),
        (copy("(SELECT a FROM t)") + copy("(SELECT b FROM t)", "two"), {"a", "b"}),
        ("CREATE VIEW v AS SELECT a, b FROM t;" + copy("(SELECT a FROM v)"), {"a", "b"}),
        ("CREATE VIEW v AS SELECT a, b FROM t; CREATE VIEW w AS SELECT c FROM t;" + copy("w"), {"c"}),
        (copy("raw.t"), set()),
        (copy("(SELECT a FROM t)") + copy("raw.t", "raw"), {"a"}),
        (copy("t"), None),
        (copy("(SELECT * FROM t)"), None),
        (copy("(SELECT a FROM t)") + copy("t", "all"), None),
    ],
)  # fmt: skip
def test_what_is_wanted(plan: Planner, statements: str, wanted: set[str] | None) -> None:
    """Columns of needed queries alone; a target of the table itself takes them all; value and key are told the same."""
    (source,) = plan(TABLE % "" + statements).sources

    assert source.key is not None
    assert source.value.request.wanted == source.key.request.wanted == wanted
    assert source.schema is not None
    assert source.schema.names == ["k", "a", "b", "c"]


def test_columns_that_must_not_be_null_are_read(plan: Planner) -> None:
    """NOT NULL is a rule for every record, whoever reads the column."""
    (source,) = plan(TABLE % "NOT NULL" + copy("(SELECT a FROM t)")).sources

    assert source.value.request.wanted == {"a", "c"}


def test_a_file_without_targets_reads_everything(plan: Planner) -> None:
    """What a REPL plans may be asked anything."""
    (source,) = plan(TABLE % "", need_copy=False).sources

    assert source.value.request.wanted is None
