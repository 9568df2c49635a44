"""Sets of offset ranges."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.model.position import Partition, Span
from thalweg.model.spans import SpanSet

P = Partition("s", "t", 0)
Q = Partition("s", "t", 1)
spans = st.builds(lambda p, a, n: Span(p, a, a + n), st.sampled_from([P, Q]), st.integers(0, 40), st.integers(0, 12))


def offsets(items: object) -> set[tuple[Partition, int]]:
    """The slow twin: every offset by itself."""
    return {(s.partition, o) for s in items for o in range(s.start, s.end)}  # type: ignore[attr-defined]


@given(st.lists(spans), st.lists(spans))
def test_union_and_difference_equal_sets_of_offsets(left: list[Span], right: list[Span]) -> None:
    """Union, difference, covers and overlaps mean what they mean for plain sets (COV-04)."""
    a, b = SpanSet(left), SpanSet(right)
    both = SpanSet(left)
    both.update(right)

    assert offsets(both) == offsets(left) | offsets(right)
    assert offsets(a.minus(b)) == offsets(left) - offsets(right)
    for span in right:
        assert a.covers(span) == (offsets([span]) <= offsets(left))
        assert a.overlaps(span) == bool(offsets([span]) & offsets(left))


@given(st.lists(spans), st.randoms())
def test_order_does_not_matter(items: list[Span], rng: object) -> None:
    """Adding is commutative and idempotent."""
    shuffled = [*items, *items]
    rng.shuffle(shuffled)  # type: ignore[attr-defined]

    assert SpanSet(items) == SpanSet(shuffled)


@given(st.lists(spans), st.integers(0, 40))
def test_contiguous_end_is_the_end_of_the_run(items: list[Span], start: int) -> None:
    """From a start inside a run (or at its end), everything up to the answer is there and the next offset is not."""
    end = SpanSet(items).contiguous_end(P, start)
    have = {o for p, o in offsets(items) if p == P}
    if end is None:
        assert start not in have
    else:
        assert all(o in have for o in range(start, end))
        assert end not in have


def test_ranges_merge_when_they_touch() -> None:
    """Half-open ranges that meet are one range."""
    found = SpanSet([Span(P, 5, 7), Span(P, 0, 2), Span(P, 2, 5)])

    assert found.ranges(P) == [(0, 7)]
    assert len(found) == 1
    assert found.contiguous_end(P) == 7
    assert found.contiguous_end(Q) is None


def test_drop_forgets_a_partition() -> None:
    """Other partitions stay."""
    found = SpanSet([Span(P, 0, 1), Span(Q, 0, 1)])
    found.drop([P])

    assert found.partitions() == [Q]
    assert repr(found).startswith("SpanSet([Span")


def test_a_span_cannot_run_backwards() -> None:
    """Refused when it is made."""
    with pytest.raises(ValueError, match="backwards"):
        Span(P, 3, 2)
    assert len(Span(P, 3, 9)) == 6
    assert str(P) == "t[0]"
