"""The suite's own checks refuse what they should."""

from __future__ import annotations

import pyarrow as pa
import pytest

from thalweg.arrow.batch import RawBatch
from thalweg.model.position import Partition, Span
from thalweg.testing.reading import Listening, check_batch, check_spans

PART = Partition("t", "a", 0)


def batch(offsets: list[int], *spans: Span, payload: pa.DataType | None = None) -> RawBatch:
    """A batch with records at these offsets."""
    records = pa.RecordBatch.from_pydict({
        "payload": pa.nulls(len(offsets), payload or pa.binary()),
        "source_topic": pa.array(["a"] * len(offsets)),
        "source_partition": pa.array([0] * len(offsets), pa.int32()),
        "source_offset": pa.array(offsets, pa.int64()),
    })
    return RawBatch(records, spans, 0)


def test_a_right_batch_passes() -> None:
    """Records inside their span, in order."""
    check_batch(batch([1, 5], Span(PART, 0, 9)))


WRONG = {
    "outside": batch([9], Span(PART, 0, 9)),
    "before": batch([1], Span(PART, 2, 9)),
    "order": batch([5, 1], Span(PART, 0, 9)),
    "twice": batch([5, 5], Span(PART, 0, 9)),
    "two spans": batch([], Span(PART, 0, 1), Span(PART, 1, 2)),
    "empty span": batch([], Span(PART, 1, 1)),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
def test_wrong_batches_are_refused(wrong: RawBatch) -> None:
    """Each broken promise is seen."""
    with pytest.raises(AssertionError):
        check_batch(wrong)


def test_records_without_span() -> None:
    """Every record belongs to a span."""
    with pytest.raises(KeyError):
        check_batch(batch([1]))


def test_spans_follow_each_other() -> None:
    """A hole or an overlap between two batches is seen."""
    assert check_spans([Span(PART, 3, 5), Span(PART, 5, 6)], {PART: 3}).ranges(PART) == [(3, 6)]
    for second in (Span(PART, 6, 7), Span(PART, 4, 7)):
        with pytest.raises(AssertionError):
            check_spans([Span(PART, 3, 5), second], {PART: 3})


def test_a_listener_resumes_where_it_is_told() -> None:
    """What the test says wins over what is committed, once or always."""
    listener = Listening(resume={PART: 7}, once=True)

    assert listener.assigned({PART: None}) == {PART: 7}
    assert listener.assigned({PART: None}) == {PART: None}
