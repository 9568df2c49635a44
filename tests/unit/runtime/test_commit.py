"""Where to resume, and what is committed when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from thalweg.errors import DrainExpired, PositionRefused
from thalweg.model.clock import SECOND_NS, SystemClock
from thalweg.model.events import CommitFailed, Event, Notice, OffsetsCommitted
from thalweg.model.position import Partition, Span
from thalweg.model.spans import SpanSet
from thalweg.ports.source import Committed
from thalweg.runtime.acks import Ledger, RawAnchor
from thalweg.runtime.commit import MARK, Committer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

P = Partition("orders", "t", 0)
Q = Partition("orders", "t", 1)
MINE = MARK + "shop"


class Record:
    """The part of a sink that commit asks."""

    def __init__(self, covered: SpanSet | None) -> None:
        """``covered``: None keeps no record."""
        self._covered = covered
        self.settled = 0
        self.stuck = False

    def covered(self, partitions: tuple[Partition, ...]) -> SpanSet | None:
        """The record of these partitions."""
        return None if self._covered is None else SpanSet(s for s in self._covered if s.partition in partitions)

    def settle(self) -> None:
        """Counted."""
        self.settled += 1


class Asked:
    """A lane that answers at once."""

    def __init__(self, name: str, record: Record) -> None:
        """One sink behind it."""
        self.name, self.record = name, record

    def call(self, work: Callable[[Any], Any], _deadline_ns: int | None) -> object:
        """Do it here and now."""
        if self.record.stuck:
            raise DrainExpired("no answer")
        return work(self.record)


class Group:
    """The part of a source that commit calls."""

    def __init__(self) -> None:
        """Nothing committed."""
        self.commits: list[tuple[dict[Partition, int], str]] = []
        self.refused: set[Partition] = set()

    def commit(self, positions: Mapping[Partition, int], metadata: str) -> Mapping[Partition, int]:
        """Everything goes through but what a rebalance took."""
        gone = {p: o for p, o in positions.items() if p not in self.refused}
        self.commits.append((gone, metadata))
        return gone


class Seen:
    """Keeps what it is told."""

    def __init__(self) -> None:
        """Nothing yet."""
        self.events: list[Event] = []

    def on(self, event: Event) -> None:
        """Take one fact."""
        self.events.append(event)


def committer(records: dict[str, Record], ledger: Ledger | None = None, interval_ns: int = 0, *, start_over: bool = False) -> tuple[Committer, Group, Seen]:
    """A committer over fakes."""
    group, seen = Group(), Seen()
    lanes: Any = [Asked(name, record) for name, record in records.items()]
    made = Committer(group, "orders", "shop", lanes, ledger or Ledger(), SystemClock(), seen, interval_ns, start_over=start_over)  # type: ignore[arg-type]
    return made, group, seen


def test_the_slowest_record_decides() -> None:
    """Minimum over the gating sinks of the contiguous covered end; holes behind it do not count."""
    a = Record(SpanSet([Span(P, 0, 50), Span(P, 60, 90)]))
    b = Record(SpanSet([Span(P, 0, 80)]))
    made, _, _ = committer({"a": a, "b": b})

    assert made.resume({P: None}, None)[P].offset == 50
    assert made.records()["b"].ranges(P) == [(0, 80)]


def test_a_sink_without_a_record_yet_starts_where_the_group_is() -> None:
    """A COPY that was just added starts where the others resume, which is what was committed."""
    made, _, _ = committer({"a": Record(SpanSet([Span(P, 0, 50)])), "new": Record(SpanSet())})

    assert made.resume({P: Committed(50, MINE)}, None)[P].offset == 50


def test_a_sink_that_died_before_its_first_record_gets_everything() -> None:
    """Nothing was committed, so nobody can know that it had anything: it starts where the other sink's record starts."""
    made, _, _ = committer({"a": Record(SpanSet([Span(P, 5, 50)])), "slow": Record(SpanSet())})

    assert made.resume({P: None}, None)[P].offset == 5


def test_without_any_record_the_group_decides_and_then_the_start_mode() -> None:
    """Committed offset, else None: scan.startup.mode."""
    made, _, _ = committer({"a": Record(SpanSet())})
    found = made.resume({P: Committed(7, ""), Q: None}, None)

    assert found[P].offset == 7
    assert found[Q].offset is None


def test_a_committed_offset_behind_the_record_is_reported_and_ignored() -> None:
    """The record is the truth, the offset a cache."""
    made, _, seen = committer({"a": Record(SpanSet([Span(P, 0, 50)]))})

    assert made.resume({P: Committed(20, MINE)}, None)[P].offset == 50
    assert [e.code for e in seen.events if isinstance(e, Notice)] == ["commit.behind"]


def test_a_committed_offset_ahead_of_the_record_is_a_hole() -> None:
    """Refused, with the ways out."""
    made, _, _ = committer({"a": Record(SpanSet([Span(P, 0, 50)]))})

    with pytest.raises(PositionRefused, match=r"50 to 70 would be missing.*--rewrite"):
        made.resume({P: Committed(70, MINE)}, None)


def test_another_pipelines_group_is_refused() -> None:
    """Two pipelines in one group would each get half."""
    made, _, _ = committer({"a": Record(SpanSet())})

    with pytest.raises(PositionRefused, match=r"written by pipeline 'other'.*group.id"):
        made.resume({P: Committed(7, MARK + "other")}, None)


def test_after_a_rewrite_the_groups_offset_counts_for_nothing_and_is_set_back() -> None:
    """It stands for rows that were removed: the start mode decides, the new start is committed, and later assignments believe the group."""
    ledger = Ledger()
    made, group, _ = committer({"a": Record(SpanSet())}, ledger, start_over=True)

    assert made.assigned({P: Committed(70, MINE)}, None)[P].offset is None

    ledger.start({P: 0})
    made.started({P: 0})
    made.tick()

    assert group.commits == [({P: 0}, MINE)]
    assert made.assigned({P: Committed(5, MINE)}, None)[P].offset == 5


def test_a_rewrite_does_not_take_another_pipelines_group() -> None:
    """Setting its offsets back would make the other pipeline repeat."""
    made, _, _ = committer({"a": Record(SpanSet())}, start_over=True)

    with pytest.raises(PositionRefused, match="written by pipeline 'other'"):
        made.assigned({P: Committed(7, MARK + "other")}, None)


def test_a_gating_sink_that_keeps_no_record_bounds_the_others() -> None:
    """At least once: what it has not got must be read again, although another sink has it already."""
    records = {"log": Record(SpanSet([Span(P, 10, 50)])), "object store": Record(None)}
    made, _, _ = committer(records)

    assert made.resume({P: Committed(30, MINE)}, None)[P].offset == 30

    made, _, _ = committer(records)

    assert made.resume({P: None}, None)[P].offset == 10


def test_a_target_that_was_removed_is_told() -> None:
    """The offsets say that it had rows, its record is gone: what it had is not written again, and that is said."""
    made, _, seen = committer({"kept": Record(SpanSet([Span(P, 0, 50)])), "removed": Record(SpanSet())})
    made.resume({P: Committed(50, MINE)}, None)
    warned = [e for e in seen.events if isinstance(e, Notice) and e.code == "commit.no_record"]

    assert len(warned) == 1
    assert "removed" in warned[0].message
    assert "--rewrite" in warned[0].message

    made, _, seen = committer({"first run": Record(SpanSet())})
    made.resume({P: None, Q: Committed(7, "")}, None)

    assert seen.events == []


def test_commit_settles_first_and_carries_the_pipelines_name() -> None:
    """Dead members' entries are rolled forward before the prefix that rests on them is committed."""
    ledger, record = Ledger(), Record(SpanSet())
    made, group, seen = committer({"a": record}, ledger)
    ledger.start({P: 0})
    made.started({P: 0})
    ledger.register(0, 1, [Span(P, 0, 9)], [RawAnchor("a")])

    assert made.commit(SECOND_NS)
    assert group.commits == []

    ledger.confirm(0, RawAnchor("a"), [1])

    assert made.commit(SECOND_NS)
    assert record.settled == 1
    assert group.commits == [({P: 9}, MINE)]
    assert [e.positions for e in seen.events if isinstance(e, OffsetsCommitted)] == [{P: 9}]

    made.commit(SECOND_NS)

    assert len(group.commits) == 1


def test_a_record_ahead_of_the_groups_offset_is_committed() -> None:
    """The process that published it died before it could; nothing has to be read for that."""
    ledger = Ledger()
    made, group, _ = committer({"a": Record(SpanSet([Span(P, 0, 50)]))}, ledger)
    start = made.resume({P: Committed(20, MINE)}, None)[P].offset
    assert start == 50
    ledger.start({P: start})
    made.started({P: start})
    made.commit(SECOND_NS)

    assert group.commits == [({P: 50}, MINE)]


def test_a_rebalance_that_overtakes_a_commit_is_counted() -> None:
    """ILLEGAL_GENERATION is a normal event; the position is committed again when it is still ours."""
    ledger = Ledger()
    made, group, seen = committer({"a": Record(SpanSet())}, ledger)
    ledger.start({P: 0, Q: 0})
    made.started({P: 0, Q: 0})
    ledger.register(0, 1, [Span(P, 0, 9), Span(Q, 0, 4)], [])
    group.refused = {Q}
    made.commit(SECOND_NS)

    assert any(isinstance(e, CommitFailed) and "t[1]" in e.reason for e in seen.events)

    group.refused = set()
    made.commit(SECOND_NS)

    assert group.commits[-1] == ({Q: 4}, MINE)


def test_nothing_is_committed_while_a_sink_does_not_answer() -> None:
    """A stuck sink delays the commit, it does not make it lead."""
    ledger, record = Ledger(), Record(SpanSet())
    made, group, _ = committer({"a": record}, ledger)
    ledger.start({P: 0})
    made.started({P: 0})
    ledger.register(0, 1, [Span(P, 0, 9)], [])
    record.stuck = True

    assert not made.commit(SECOND_NS)
    assert group.commits == []


def test_tick_waits_for_the_interval() -> None:
    """One commit an interval at most."""
    ledger = Ledger()
    made, group, _ = committer({"a": Record(SpanSet())}, ledger, interval_ns=3_600 * SECOND_NS)
    ledger.start({P: 0})
    made.started({P: 0})
    ledger.register(0, 1, [Span(P, 0, 9)], [])
    made.tick()

    assert group.commits == []


def test_partitions_that_went_are_forgotten() -> None:
    """Their coverage is asked for again when they come back."""
    made, _, _ = committer({"a": Record(SpanSet([Span(P, 0, 50), Span(Q, 0, 5)]))})
    made.resume({P: None, Q: None}, None)
    made.forget((P,))

    assert made.records()["a"].partitions() == [Q]
