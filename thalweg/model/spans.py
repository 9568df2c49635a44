"""Sets of half-open offset ranges per partition: union, difference, gaps, contiguous prefix."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from thalweg.model.position import Partition, Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class SpanSet:
    """A mutable set of offsets, kept as sorted, disjoint, merged ranges for each partition.

    Adding is commutative, associative and idempotent, so ranges may arrive in any order and more than once.
    """

    __slots__ = ("_ranges",)

    def __init__(self, spans: Iterable[Span] = ()) -> None:
        """Start with the union of ``spans``."""
        self._ranges: dict[Partition, list[tuple[int, int]]] = {}
        for span in spans:
            self.add(span)

    def add(self, span: Span) -> None:
        """Unite with one span; an empty span changes nothing."""
        if span.start == span.end:
            return
        ranges = self._ranges.setdefault(span.partition, [])
        lo = bisect_left(ranges, span.start, key=lambda r: r[1])
        hi = bisect_right(ranges, span.end, key=lambda r: r[0])
        start, end = span.start, span.end
        if lo < hi:
            start, end = min(start, ranges[lo][0]), max(end, ranges[hi - 1][1])
        ranges[lo:hi] = [(start, end)]

    def update(self, other: Iterable[Span]) -> None:
        """Unite with every span of ``other``."""
        for span in other:
            self.add(span)

    def drop(self, partitions: Iterable[Partition]) -> None:
        """Forget whole partitions."""
        for partition in partitions:
            self._ranges.pop(partition, None)

    def partitions(self) -> list[Partition]:
        """The partitions with at least one offset, sorted."""
        return sorted(self._ranges)

    def ranges(self, partition: Partition) -> list[tuple[int, int]]:
        """The disjoint ranges of one partition, ascending."""
        return list(self._ranges.get(partition, ()))

    def contiguous_end(self, partition: Partition, start: int | None = None) -> int | None:
        """End of the run that holds ``start`` (default: the first run); None where there is no such run.

        A run that ends exactly at ``start`` counts: nothing after it is covered yet, nothing before it is missing.
        """
        ranges = self._ranges.get(partition)
        if not ranges:
            return None
        if start is None:
            return ranges[0][1]
        for lo, hi in ranges:
            if lo <= start <= hi:
                return hi
        return None

    def covers(self, span: Span) -> bool:
        """Whether every offset of ``span`` is in the set."""
        if span.start == span.end:
            return True
        ranges = self._ranges.get(span.partition, [])
        at = bisect_right(ranges, span.start, key=lambda r: r[0]) - 1
        return at >= 0 and ranges[at][1] >= span.end

    def overlaps(self, span: Span) -> bool:
        """Whether any offset of ``span`` is in the set."""
        ranges = self._ranges.get(span.partition, [])
        at = bisect_right(ranges, span.start, key=lambda r: r[1])
        return at < len(ranges) and ranges[at][0] < span.end and span.start < span.end

    def minus(self, other: SpanSet) -> SpanSet:
        """The offsets of this set that ``other`` has not."""
        out = SpanSet()
        for span in self:
            at = span.start
            for lo, hi in other.ranges(span.partition):
                if hi <= at or lo >= span.end:
                    continue
                if lo > at:
                    out.add(Span(span.partition, at, lo))
                at = max(at, hi)
            if at < span.end:
                out.add(Span(span.partition, at, span.end))
        return out

    def __iter__(self) -> Iterator[Span]:
        """Spans in partition order, ascending."""
        for partition in self.partitions():
            for start, end in self._ranges[partition]:
                yield Span(partition, start, end)

    def __len__(self) -> int:
        """Number of disjoint ranges."""
        return sum(len(r) for r in self._ranges.values())

    def __eq__(self, other: object) -> bool:
        """Equal when they hold the same offsets."""
        return isinstance(other, SpanSet) and self._ranges == other._ranges

    __hash__ = None  # type: ignore[assignment]  # mutable

    def __repr__(self) -> str:
        """The ranges, for a failing test."""
        return f"SpanSet({list(self)})"
