"""Narrowing a failing query down to its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from thalweg.arrow.metadata import ROW
from thalweg.errors import QueryFailed
from thalweg.runtime.isolate import MAX_RUNS, code_of, isolate

if TYPE_CHECKING:
    from collections.abc import Mapping


def table(n: int) -> pa.RecordBatch:
    """Rows numbered from 0."""
    return pa.record_batch({"x": pa.array(range(n), pa.int64()), ROW: pa.array(range(n), pa.int32())})


def failing_on(bad: set[int], runs: list[int]):  # noqa: ANN201 - a closure for one test
    """A query that gives its input back, or fails when a bad row is in it."""

    def run(part: Mapping[str, pa.RecordBatch]) -> list[pa.RecordBatch]:
        batch = part["t"]
        runs.append(batch.num_rows)
        hit = bad & set(batch.column("x").to_pylist())
        if hit:
            raise QueryFailed(f"Divide by zero error in {min(hit)}")
        return [batch] if batch.num_rows else []

    return run


@pytest.mark.parametrize("bad", [{0}, {999}, {500}, {3, 4, 900}])
def test_bad_rows_are_found_and_the_others_kept_in_order(bad: set[int]) -> None:
    """Each bad row costs one row (SQ-08)."""
    runs: list[int] = []
    good, found = isolate("node", {"t": table(1000)}, failing_on(bad, runs))

    rows = [x for batch in good for x in batch.column("x").to_pylist()]
    assert rows == [x for x in range(1000) if x not in bad]
    assert found.rows == sorted(bad)
    assert set(found.codes) == {"sql.arithmetic"}
    assert len(runs) < 80


def test_a_query_that_fails_over_nothing_is_nobodys_row() -> None:
    """A missing file is not the fault of a record: the pipeline fails, no record goes to the dead letters."""

    def run(part: Mapping[str, pa.RecordBatch]) -> list[pa.RecordBatch]:
        raise QueryFailed("object store: no such file")

    with pytest.raises(QueryFailed, match="no such file"):
        isolate("node", {"t": table(10)}, run)


def test_too_many_bad_rows_fail_the_pipeline_with_advice() -> None:
    """The search has a budget."""
    runs: list[int] = []

    with pytest.raises(QueryFailed, match="try_cast"):
        isolate("node", {"t": table(20_000)}, failing_on(set(range(0, 20_000, 3)), runs))
    assert len(runs) <= MAX_RUNS


def test_inputs_are_narrowed_together() -> None:
    """Several inputs of one source share row numbers: a row leaves all of them at once."""
    left, right = table(6), table(6).filter(pa.array(np.array([True, False] * 3)))
    seen: list[tuple[int, ...]] = []

    def run(part: Mapping[str, pa.RecordBatch]) -> list[pa.RecordBatch]:
        if 4 in part["r"].column("x").to_pylist():
            raise QueryFailed("Cast error: no number")
        seen.append(tuple(part["l"].column("x").to_pylist()))
        return [part["l"]]

    good, bad = isolate("node", {"l": left, "r": right}, run)

    assert bad.rows == [4]
    assert bad.codes == ["sql.cast"]
    assert sorted(x for batch in good for x in batch.column("x").to_pylist()) == [0, 1, 2, 3, 5]


def test_codes() -> None:
    """Messages of the engine fall into three codes."""
    assert code_of("Arrow error: Divide by zero error") == "sql.arithmetic"
    assert code_of("Cast error: Cannot cast string 'abc' to value of Int32 type") == "sql.cast"
    assert code_of("something else") == "sql.other"
