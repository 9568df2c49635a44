"""Row lineage against the engine: for every query of the corpus the spliced text is the original and one column more."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pyarrow as pa
import pytest

from tests.corpus.queries import ROW_COUNT, Case, cases, statics, streams
from thalweg.arrow.metadata import ROW
from thalweg.dialect.lineage import Lineage, analyse
from thalweg.engine.session import Session

KEPT = cases("rows")
REFUSED = cases("refused")
STATIC = cases("static")
RESERVED = cases("reserved")


@cache
def aggregates() -> frozenset[str]:
    """The engine's aggregate functions, as the planner asks for them."""
    return frozenset(name for name, kind, _ in Session().functions() if kind == "AGGREGATE")


def judge(sql: str) -> Lineage:
    """Analyse a query over the corpus's tables."""
    return analyse(sql, streams().keys(), aggregates())


@cache
def session(*, hidden: bool, row: int | None = None) -> Session:
    """A session over all rows, or over one row of each stream; with the hidden column or without."""
    made = Session()
    for name, batch in statics().items():
        made.put(name, [batch], batch.schema)
    for name, whole in streams().items():
        full = whole.append_column(ROW, pa.array(range(ROW_COUNT), pa.int32())) if hidden else whole
        batch = full if row is None else full.slice(row, 1)
        made.put(name, [batch], batch.schema)
    return made


def answer(made: Session, sql: str) -> list[tuple[str, ...]]:
    """The rows of a query as text, column by column, so that duplicate names and NaN do not matter."""
    return [tuple(repr(column[i].as_py()) for column in batch.columns) for batch in made.run(sql) for i in range(batch.num_rows)]


def fields(made: Session, sql: str) -> list[tuple[str, str]]:
    """Names and types of a query's columns."""
    return [(field.name, str(field.type)) for field in made.schema_of(sql)]


def test_corpus_is_large_enough() -> None:
    """The corpus has at least 120 queries that keep rows apart and 48 that are refused (CRD-05)."""
    assert len({case.sql for case in KEPT}) >= 120
    assert len({case.sql for case in REFUSED}) >= 48


@pytest.mark.parametrize("case", KEPT, ids=lambda case: case.sql[:60])
def test_spliced_query_is_the_original_and_one_column(case: Case) -> None:
    """The spliced text plans to the same columns with the row number last, and gives the same rows (DAG-08)."""
    found = judge(case.sql)
    assert found.kind == "rows", (found.reason, found.offset)
    assert found.spliced is not None

    assert fields(session(hidden=True), found.spliced) == [*fields(session(hidden=False), case.sql), (ROW, "int32")]
    columns = len(fields(session(hidden=False), case.sql))
    whole = answer(session(hidden=True), found.spliced)
    if columns:
        assert Counter(row[:-1] for row in whole) == Counter(answer(session(hidden=False), case.sql))


@pytest.mark.parametrize("case", KEPT, ids=lambda case: case.sql[:60])
def test_batch_is_the_union_of_its_rows(case: Case) -> None:
    """The spliced query over a batch gives what it gives over each of the batch's rows alone, so no row sees another (DAG-08)."""
    found = judge(case.sql)
    assert found.spliced is not None
    whole = answer(session(hidden=True), found.spliced)

    alone: Counter[tuple[str, ...]] = Counter()
    for row in range(ROW_COUNT):
        one = answer(session(hidden=True, row=row), found.spliced)
        assert {r[-1] for r in one} <= {str(row)}
        alone.update(one)

    assert Counter(whole) == alone


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.sql[:60])
def test_refused_query_says_why_and_where(case: Case) -> None:
    """What would silently mean "per micro-batch" is refused with its reason, its place and a way out (DAG-11, DAG-21)."""
    reason, _, text = case.note.partition(" @ ")
    found = judge(case.sql)

    assert found.kind == "refused", found
    assert found.spliced is None
    assert reason.casefold() in (found.reason or "").casefold()
    assert found.hint
    assert found.offset is not None
    assert case.sql[found.offset :].startswith(text.strip())


@pytest.mark.parametrize("case", STATIC, ids=lambda case: case.sql[:60])
def test_static_query_is_left_alone(case: Case) -> None:
    """Over static tables all of SQL is allowed (CRD-05)."""
    found = judge(case.sql)

    assert (found.kind, found.spliced, found.row_sources) == ("static", None, ())


@pytest.mark.parametrize("case", RESERVED, ids=lambda case: case.sql[:60])
def test_hidden_name_is_reserved(case: Case) -> None:
    """The hidden column's name can be neither read nor given, in any spelling of it (MET-24)."""
    found = judge(case.sql)

    assert found.kind == "error"
    assert "reserved" in (found.reason or "")
    assert found.offset is not None
    assert case.sql[found.offset :].startswith(case.note)
