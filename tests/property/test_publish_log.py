"""Random kills, zombies and rebalances over the real publish log: nothing lost, nothing twice, nothing committed ahead.

A port of a simulation to the sink itself: durable state is a topic (numbers), two relations' target folders, and committed offsets.
"""

from __future__ import annotations

import itertools
import os
import random
import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from thalweg.errors import SpanTaken
from thalweg.model.spans import SpanSet
from thalweg.sinks.files.local import LocalPublisher
from thalweg.sinks.files.publish_log import PublishLog
from thalweg.testing.fakes import CrashPoints, Killed
from thalweg.testing.sinks import SinkBench, delivery, partition

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PARTS = 3
KEEP = {"all": lambda _o: True, "some": lambda o: o % 3 != 0}
"""Relations: one keeps every record, the other drops every third."""
RUNS = 30
SOAK_RUNS = 5000


@dataclass
class Store:
    """What survives a kill."""

    folder: Path
    size: int
    committed: dict[int, int] = field(default_factory=lambda: dict.fromkeys(range(PARTS), 0))
    ahead: int = 0
    read: dict[Path, list[tuple[int, int]]] = field(default_factory=dict)

    def bench(self, relation: str) -> SinkBench:
        """The relation's target; a folder partition makes entries of several files."""
        return SinkBench("files", str(self.folder / relation), list, {"row-group.rows": "5"}, ("name",) if relation == "some" else ())

    def rows(self, relation: str) -> list[tuple[int, int]]:
        """Rows that a reader sees; each file is read once, since a published file never changes."""
        out = []
        for path in (self.folder / relation).rglob("*.parquet"):
            if path not in self.read:
                table = pq.ParquetFile(path).read(["partition", "offset"]).to_pydict()
                self.read[path] = list(zip(table["partition"], table["offset"], strict=True))
            out += self.read[path]
        return out

    def commit(self, index: int, upto: int) -> None:
        """Commit, and check that nothing below is missing."""
        self.committed[index] = upto
        for relation, keep in KEEP.items():
            visible = set(self.rows(relation))
            self.ahead += sum((index, o) not in visible for o in range(upto) if keep(o))


class Member:
    """One process: it owns partitions, reads, publishes to both relations, commits."""

    def __init__(self, store: Store, rng: random.Random, *, mortal: bool = True, believes_commit: bool = False) -> None:
        """Opens its sinks."""
        self.store, self.rng, self.mortal, self.believes_commit = store, rng, mortal, believes_commit
        self.sinks = {r: store.bench(r).open(r) for r in KEEP}
        self.owned: list[int] = []
        self.pos: dict[int, int] = {}
        self.have: dict[str, SpanSet] = {}
        self.seq = 0

    def alive_through(self) -> CrashPoints:
        """Sometimes a step at which it dies."""
        return CrashPoints(self.rng.randrange(60) if self.mortal and self.rng.random() < 0.25 else None)

    def assign(self, owned: list[int]) -> None:
        """Take partitions: give up what is open, read the records, resume at the shortest."""
        with self.alive_through():
            self.owned = owned
            for relation, sink in self.sinks.items():
                sink.abandon()
                self.have[relation] = sink.covered([partition(p) for p in owned]) or SpanSet()
            for p in owned:
                ends = [s.contiguous_end(partition(p), 0) or 0 for s in self.have.values()]
                self.pos[p] = self.store.committed[p] if self.believes_commit else min(ends)

    def read(self) -> bool:
        """One epoch of one partition, cut at every record's edges."""
        mine = [p for p in self.owned if self.pos[p] < self.store.size]
        if not mine:
            return False
        p = self.rng.choice(mine)
        lo, hi = self.pos[p], min(self.store.size, self.pos[p] + self.rng.randint(1, 9))
        takers = dict(self.sinks)
        for relation, have in self.have.items():
            for start, end in [] if self.believes_commit else have.ranges(partition(p)):
                if start <= lo < end:
                    hi = min(hi, end)
                    del takers[relation]
                elif lo < start < hi:
                    hi = start
        self.seq += 1
        for relation, sink in takers.items():
            sink.write(delivery(self.seq, lo, hi, p, KEEP[relation]))
        self.pos[p] = hi
        return True

    def publish(self) -> None:
        """Make both relations durable, then commit; a zombie finds its span taken and begins again."""
        with self.alive_through():
            try:
                for sink in self.sinks.values():
                    sink.flush()
                    sink.confirm()
            except SpanTaken:
                self.assign(self.owned)
                return
            for sink in self.sinks.values():
                sink.settle()
            for p in self.owned:
                spans = [s.covered([partition(p)]) or SpanSet() for s in self.sinks.values()]
                self.store.commit(p, min(s.contiguous_end(partition(p), 0) or 0 for s in spans))

    def die(self) -> None:
        """The kernel lets go of its locks; everything else stays as it is."""
        for sink in self.sinks.values():
            lock: Any = sink._publisher._log._lock  # type: ignore[attr-defined]
            if lock._close is not None:
                lock._close()


def play(folder: Path, seed: int, *, believes_commit: bool = False) -> tuple[int, int, int]:
    """One random history; ``(lost, twice, committed ahead)``."""
    rng = random.Random(seed)
    store = Store(folder, rng.randint(20, 60))
    members: list[Member] = []
    for _ in range(rng.randint(20, 80)):
        if len(members) < 2 or rng.random() < 0.06:
            members = rebalance(store, members, rng, believes_commit=believes_commit)
        member = rng.choice(members)
        try:
            member.read() if rng.random() < 0.7 else member.publish()
        except Killed:
            member.die()
            members.remove(member)
    last = Member(store, random.Random(seed + 1), mortal=False, believes_commit=believes_commit)
    last.assign(list(range(PARTS)))
    for turn in itertools.count():
        assert turn < 500, "goes round in circles"
        if not last.read():
            break
        if last.rng.random() < 0.2:
            last.publish()
    last.publish()
    for member in [*members, last]:
        for sink in member.sinks.values():
            sink.close()
    lost = twice = 0
    for relation, keep in KEEP.items():
        rows = store.rows(relation)
        want = {(p, o) for p in range(PARTS) for o in range(store.size) if keep(o)}
        twice += len(rows) - len(set(rows))
        lost += len(want - set(rows))
    return lost, twice, store.ahead


def rebalance(store: Store, members: list[Member], rng: random.Random, *, believes_commit: bool) -> list[Member]:
    """Somebody joins; partitions are dealt again; some members hear of it late and go on as zombies, some publish first."""
    members = [*members, Member(store, rng, believes_commit=believes_commit)]
    for gone in members[:-3]:
        gone.die()
    members = members[-3:]
    deal = list(range(PARTS))
    rng.shuffle(deal)
    left = list(members)
    for i, member in enumerate(members):
        if rng.random() >= 0.7 and member.owned:
            continue
        try:
            if rng.random() < 0.5:
                member.publish()
            member.assign(deal[i:: len(members)])
        except Killed:
            member.die()
            left.remove(member)
    return left or rebalance(store, [], rng, believes_commit=believes_commit)


@pytest.fixture
def quick_disk() -> Iterator[None]:
    """A killed process loses no written page, so these runs do not wait for the disk."""
    real = os.fsync
    os.fsync = lambda _fd: None
    yield
    os.fsync = real


def test_any_history_ends_well(tmp_path: Path, quick_disk: None) -> None:
    """Whatever is killed whenever: each row is visible exactly once, and no commit ever led the visible rows (COV-04, COV-05, SNK-05)."""
    assert bad_ones(tmp_path, range(RUNS)) == {}


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_very_many_histories_end_well(tmp_path: Path, quick_disk: None) -> None:
    """The same, many times over."""
    assert bad_ones(tmp_path, range(RUNS, RUNS + SOAK_RUNS)) == {}


def bad_ones(folder: Path, seeds: range) -> dict[int, tuple[int, int, int]]:
    """Outcomes of the histories that end badly."""
    bad = {}
    for seed in seeds:
        outcome = play(folder / str(seed), seed)
        shutil.rmtree(folder / str(seed))
        if any(outcome):
            bad[seed] = outcome
    return bad


def leave_out_record(_patch: pytest.MonkeyPatch) -> bool:
    """Resume from the committed offset, as if the record did not count."""
    return True


def leave_out_disjointness(patch: pytest.MonkeyPatch) -> bool:
    """Publish without looking whether the span is taken."""
    patch.setattr(PublishLog, "_refuse_taken", lambda _self, _spans: None)
    return False


def leave_out_roll_forward(patch: pytest.MonkeyPatch) -> bool:
    """Commit over entries of dead processes whose files still wait for their names."""
    patch.setattr(PublishLog, "_finish", lambda self: self._unfinished.clear())
    patch.setattr(LocalPublisher, "settle", lambda _self: None)
    return False


def leave_out_lock(patch: pytest.MonkeyPatch) -> bool:
    """Delete temporary files whoever holds them."""
    patch.setattr("thalweg.sinks.files.process_lock._try_lock", lambda _fd: True)
    return False


@pytest.mark.parametrize("leave_out", [leave_out_record, leave_out_disjointness, leave_out_roll_forward, leave_out_lock])
def test_every_rule_is_needed(leave_out: Any, tmp_path: Path, quick_disk: None, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ANN401 - four functions
    """The histories above are hard enough: with any one rule left out some of them fail."""
    believes_commit = leave_out(monkeypatch)

    assert any(fails(tmp_path / str(seed), seed, believes_commit=believes_commit) for seed in range(RUNS))


def fails(folder: Path, seed: int, *, believes_commit: bool) -> bool:
    """Whether a history ends badly, by its rows or by an error."""
    try:
        return any(play(folder, seed, believes_commit=believes_commit))
    except Exception:  # noqa: BLE001 - any error shows that the rule was needed
        return True
