"""Where to resume, and the only caller of ``Source.commit``: positions that every gating lane has made durable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from thalweg.errors import DrainExpired, PositionRefused
from thalweg.model.events import CommitFailed, Notice, OffsetsCommitted
from thalweg.model.spans import SpanSet

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from thalweg.model.clock import Clock
    from thalweg.model.events import Observer
    from thalweg.model.position import Partition
    from thalweg.ports.source import Committed, Source
    from thalweg.runtime.acks import Ledger
    from thalweg.runtime.lanes import AnyLane

MARK: Final = "twg:"
"""Commit metadata is ``twg:<pipeline>``: a group whose offsets another pipeline wrote is refused."""
SETTLE_NS: Final = 200_000_000


@dataclass(frozen=True, slots=True)
class Resume:
    """Where one partition goes on, and why there."""

    offset: int | None
    reason: str


class Committer:
    """One for each source table; every method is called on that source's reader thread."""

    def __init__(
        self, source: Source, name: str, pipeline: str, lanes: Sequence[AnyLane], ledger: Ledger, clock: Clock, observer: Observer, interval_ns: int,
        *, start_over: bool = False,
    ) -> None:
        """``lanes``: the gating lanes of this source. With ``start_over`` (``--rewrite``) the group's offsets count for nothing at first."""
        self._source, self._name, self._pipeline = source, name, pipeline
        self._lanes, self._ledger, self._clock, self._observer = lanes, ledger, clock, observer
        self._interval_ns = interval_ns
        self._start_over = start_over
        self._seen: set[Partition] = set()
        self._committed: dict[Partition, int] = {}
        self._due_ns = clock.monotonic_ns() + interval_ns
        self.covered: dict[str, SpanSet] = {}
        """What each lane's own record held at the last resume: replays are cut at these ends."""

    # -- where to go on
    def assigned(self, committed: Mapping[Partition, Committed | None], deadline_ns: int | None) -> dict[Partition, Resume]:
        """Where partitions that come go on. Raises what :meth:`resume` raises.

        When the targets were emptied to be written again, a committed offset stands for rows that are gone: it is left out the first
        time that a partition comes, and set back with the next commit.
        """
        known = dict(committed)
        if self._start_over:
            for partition in set(committed) - self._seen:
                if (at := committed[partition]) is not None:
                    self._refuse_foreign(partition, at)
                known[partition] = None
                self._committed[partition] = -1
                self._due_ns = 0
            self._seen.update(committed)
        return self.resume(known, deadline_ns)

    def resume(self, committed: Mapping[Partition, Committed | None], deadline_ns: int | None) -> dict[Partition, Resume]:
        """Ask the sinks' records first; a committed offset is only a cache. Raises PositionRefused for a hole or a foreign group."""
        covered = dict(self.covered)
        for lane in self._lanes:
            found = lane.call(lambda sink: sink.covered(tuple(committed)), deadline_ns)
            if found is not None:
                merged = SpanSet(covered.get(lane.name, ()))
                merged.drop(committed)
                merged.update(found)
                covered[lane.name] = merged
        self.covered = covered
        self._warn_of_gone_records(committed)
        return {partition: self._resume_one(partition, at) for partition, at in committed.items()}

    def _warn_of_gone_records(self, committed: Mapping[Partition, Committed | None]) -> None:
        """Offsets that this pipeline committed after a target had the rows, and a target without a record: it was removed, moved or added."""
        ours = {p: at.offset for p, at in committed.items() if at is not None and at.offset > 0 and at.metadata == MARK + self._pipeline}
        for lane in self._lanes:
            spans = self.covered.get(lane.name)
            if ours and spans is not None and not any(spans.ranges(p) for p in ours):
                first = min(ours)
                more = f" and {len(ours) - 1} more partitions" if len(ours) > 1 else ""
                message = (
                    f"the group is at offset {ours[first]} of {first}{more}, but target {lane.name} has no record of anything before it: "
                    "it was removed, moved or just added, and gets only what comes from here on. --rewrite writes all targets from the start"
                )
                self._observer.on(Notice("warning", "commit.no_record", message))

    def _resume_one(self, partition: Partition, committed: Committed | None) -> Resume:
        """Minimum over the records of the contiguous covered end; else the group's offset; else the start mode.

        A gating sink that has no record of this partition (it keeps none, or died before its first one) has only the committed offset to
        go by, or else the start of the others' records; those are cut, so they get nothing twice.
        """
        ends = {name: end for name, spans in self.covered.items() if (end := spans.contiguous_end(partition)) is not None}
        if committed is not None:
            self._refuse_foreign(partition, committed)
        if not ends:
            if committed is None:
                return Resume(None, "nothing is recorded: it starts where the table says")
            return Resume(committed.offset, "committed offset of the group; no sink has a record yet")
        lane, end = min(ends.items(), key=lambda item: (item[1], item[0]))
        if committed is not None and committed.offset > end:
            raise PositionRefused(
                f"the group has committed offset {committed.offset}, but the record of sink {lane} ends at {end}: "
                f"offsets {end} to {committed.offset} would be missing from it",
                where=str(partition),
                hint="reset the group's offset to the record's end, use another 'properties.group.id', or write the target again with --rewrite",
            )
        self._committed[partition] = committed.offset if committed is not None else -1
        without = [lane.name for lane in self._lanes if lane.name not in ends]
        if without and committed is not None:
            return Resume(committed.offset, f"committed offset of the group; sink {without[0]} has no record yet")
        if without:
            start = min(self.covered[name].ranges(partition)[0][0] for name in ends)
            return Resume(start, f"start of the record of sink {lane}; sink {without[0]} has no record yet")
        if committed is not None and committed.offset < end:
            message = f"{partition}: committed offset {committed.offset} is behind the sinks' record {end}; the record counts"
            self._observer.on(Notice("info", "commit.behind", message))
        return Resume(end, f"record of sink {lane}")

    def _refuse_foreign(self, partition: Partition, committed: Committed) -> None:
        """Two pipelines in one group would each silently get half of the partitions."""
        if committed.metadata.startswith(MARK) and committed.metadata != MARK + self._pipeline:
            raise PositionRefused(
                f"the consumer group's offsets were written by pipeline '{committed.metadata[len(MARK):]}', not by '{self._pipeline}'",
                where=str(partition),
                hint="give this pipeline a 'properties.group.id' of its own",
            )

    def records(self) -> Mapping[str, SpanSet]:
        """What each gating lane's record held when its partitions were assigned; read by the worker thread."""
        return self.covered

    # -- moving on
    def tick(self) -> None:
        """Commit when the interval has passed and something moved."""
        if self._clock.monotonic_ns() >= self._due_ns:
            self.commit(self._clock.monotonic_ns() + SETTLE_NS)

    def commit(self, deadline_ns: int) -> bool:
        """Commit what is delivered and not committed yet; False when a sink could not settle in time (nothing was committed then)."""
        self._due_ns = self._clock.monotonic_ns() + self._interval_ns
        delivered = self._ledger.positions(self._name)
        moved = {p: at.offset for p, at in delivered.items() if at.offset > self._committed.get(p, -1)}
        if not moved:
            return True
        try:
            for lane in self._lanes:
                lane.call(lambda sink: sink.settle(), deadline_ns)
        except DrainExpired:
            return False
        gone = self._source.commit(moved, MARK + self._pipeline)
        self._committed.update(gone)
        if gone:
            self._observer.on(OffsetsCommitted(self._name, gone))
        if len(gone) < len(moved):
            left = ", ".join(str(p) for p in sorted(set(moved) - set(gone)))
            self._observer.on(CommitFailed(self._name, f"a rebalance overtook the commit of {left}; the record stands and the next owner resumes from it"))
        return True

    def started(self, positions: Mapping[Partition, int]) -> None:
        """Partitions start here; where a record is ahead of the group's offset, its end is still to be committed."""
        for partition, offset in positions.items():
            self._committed.setdefault(partition, offset)

    def forget(self, partitions: Sequence[Partition]) -> None:
        """Partitions went."""
        for partition in partitions:
            self._committed.pop(partition, None)
        for spans in self.covered.values():
            spans.drop(partitions)
