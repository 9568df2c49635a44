"""Takes messages from the client into the buffer: budgets, bounded ends, stale messages, long stalls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from confluent_kafka import KafkaException, TopicPartition

from thalweg.sources.kafka.reader import next_offsets

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from confluent_kafka import Consumer

    from thalweg.model.clock import Clock
    from thalweg.ports.source import Budget
    from thalweg.sources.kafka.assignment import Assignment
    from thalweg.sources.kafka.reader import Buffer, Fault, Key, Taken
    from thalweg.sources.kafka.tap import Tap

_SLICE_NS: Final = 50_000_000
"""Longest wait in the client at a stretch, so that ends and callbacks are noticed."""
_FIRST_ASK: Final = 1_024
_MOST: Final = 200_000
STALL_NS: Final = 5_000_000_000
"""A stall that lasts longer pauses the partitions; pausing throws the client's prefetch away, so a short one does not."""


class Intake:
    """The way from the client's queue to the buffer; used by the reader thread only."""

    def __init__(self, consumer: Consumer, tap: Tap, assignment: Assignment, buffer: Buffer, clock: Clock) -> None:
        """Take from ``consumer``, through ``tap``, what belongs to ``assignment``."""
        self._consumer = consumer
        self._tap = tap
        self._assignment = assignment
        self._buffer = buffer
        self._clock = clock
        self._mean_bytes = 0.0
        self._misplaced: set[Key] = set()
        self._paused: set[Key] = set()
        self._stalled_ns: int | None = None
        self._taken: dict[Key, int] = {}
        """Offset behind what was taken last, by partition, since it was placed."""
        self._jumped: dict[Key, tuple[int, int]] = {}
        """Where partitions were placed in front of what is there, by a rule for offsets that are gone: from where, and to where."""

    def fill(self, budget: Budget) -> list[Fault]:
        """Fill the buffer up to the budget, waiting at most its age; returns early at a fault, a rebalance, the bounded end or where the way changes."""
        self._wake()
        self._change()
        deadline = self._clock.monotonic_ns() + budget.age_ns
        faults: list[Fault] = []
        rooms = self._tap.begin()
        if rooms is not None:
            self._buffer.move(rooms)
        while not faults and self._buffer.rows < budget.rows and self._buffer.nbytes < budget.nbytes and not self._complete():
            left = deadline - self._clock.monotonic_ns()
            faults = self._consume(self._wanted(budget), max(min(left, _SLICE_NS), 0) / 1e9)
            if left <= 0 or self._tap.stuck or self._assignment.turned or self._assignment.failure is not None:
                break
        return faults

    def touch(self) -> list[Fault]:
        """Let the client run its callbacks while nothing can be taken."""
        now = self._clock.monotonic_ns()
        if self._stalled_ns is None:
            self._stalled_ns = now
        elif now - self._stalled_ns > STALL_NS:
            self._pause(self._assignment.next.keys() - self._paused)
        return self._consume(0, 0.0)

    def place(self, key: Key, offset: int) -> None:
        """Fetch a held partition from ``offset`` on; what was taken of it is thrown away."""
        self._buffer.drop({key})
        self._taken.pop(key, None)
        self._jumped[key] = (self._assignment.next.get(key, offset), offset)
        if key in self._paused and self._stalled_ns is None:
            self._tap.resume([key])
            self._paused.discard(key)
        self._misplaced.discard(key)
        if self._tap.place(key, offset):
            return
        epoch = self._tap.epoch(key)
        target = TopicPartition(*key, offset) if epoch is None else TopicPartition(*key, offset, leader_epoch=epoch)
        try:
            self._consumer.seek(target)
        except KafkaException:
            # Not fetched at the moment: assigned just now, or stopped at an offset that is gone.
            self._reassign(key, target)

    def _reassign(self, key: Key, target: TopicPartition) -> None:
        """Fetch a partition from an offset on by assigning it again."""
        try:
            if self._assignment.eager:
                # This kind of group changes all or nothing, so the others are fetched again from where they were returned.
                self._buffer.drop(self._assignment.next.keys())
                self._taken.clear()
                places = {**self._assignment.next, key: target.offset}
                self._consumer.assign([TopicPartition(*k, o) for k, o in places.items()])
            else:
                self._consumer.incremental_unassign([TopicPartition(*key)])
                self._consumer.incremental_assign([target])
        except KafkaException:
            # A rebalance is under way: the partition's messages are refused until this works, or until it goes.
            self._misplaced.add(key)

    def _wake(self) -> None:
        """End a stall, and put partitions right that could not be put right before."""
        self._stalled_ns = None
        self._paused &= self._assignment.next.keys()
        resumed = [key for key in self._paused if not self._ended(key)]
        if resumed:
            self._tap.resume(resumed)
            self._paused.difference_update(resumed)
        self._misplaced &= self._assignment.next.keys()
        for key in list(self._misplaced):
            self.place(key, self._start(key))

    def _wanted(self, budget: Budget) -> int:
        """How many messages to ask for."""
        rows = budget.rows - self._buffer.rows
        by_bytes = _FIRST_ASK if not self._mean_bytes else int((budget.nbytes - self._buffer.nbytes) / self._mean_bytes) + 1
        return max(1, min(rows, by_bytes, _MOST))

    def _consume(self, count: int, seconds: float) -> list[Fault]:
        """One call to the client, callbacks included."""
        try:
            taken = self._tap.take(count, seconds)
        except BaseException:
            # Messages that the client had in its hands are lost with the exception: fetch them again.
            self._misplaced |= self._assignment.next.keys()
            self._taken.clear()
            raise
        taken = self._once(self._fresh(taken))
        self._buffer.add(taken)
        if self._buffer.rows:
            mean = self._buffer.nbytes / self._buffer.rows
            self._mean_bytes = mean if not self._mean_bytes else (self._mean_bytes + mean) / 2
        if self._assignment.ends is not None and (taken.blocks or taken.ends):
            self._cut()
        return taken.faults

    def _change(self) -> None:
        """Go over to another way when that is due. A seek makes the client drop what is still on the old way."""
        if self._tap.change():
            if self._tap.doubtful:
                self._assignment.verify()
            starts = {key: self._start(key) for key in self._assignment.next}
            self._tap.hold(starts)
            self._tap.held(starts)
            for key, offset in starts.items():
                self.place(key, offset)

    def _start(self, key: Key) -> int:
        """Where to go on with a held partition: behind what was returned, or where it was moved to since."""
        returned = self._assignment.next[key]
        moved_from, moved_to = self._jumped.get(key, (returned, returned))
        return moved_to if moved_from == returned else returned

    def _fresh(self, taken: Taken) -> Taken:
        """Without records of partitions that went during this call or that wait to be put right."""
        stale = self._assignment.turned | self._misplaced
        if not stale:
            return taken
        # A partition that went and came back within one call may have messages of both times: fetch it again from the start.
        self._misplaced |= self._assignment.turned & self._assignment.next.keys()
        return taken.only(self._assignment.next.keys() - stale)

    def _once(self, taken: Taken) -> Taken:
        """Without records that were taken before.

        A client that pauses its partitions, as it does around each rebalance, goes on behind the last message that somebody has looked at;
        the one that left its queue at that moment comes again.
        """
        for key in self._assignment.turned:
            self._taken.pop(key, None)
        taken.blocks = [part for block in taken.blocks if (part := block.after(self._taken)).rows]
        self._reach(next_offsets(taken.blocks))
        return taken

    def _reach(self, found: Mapping[Key, int]) -> None:
        """Note how far partitions were taken."""
        self._taken.update({key: max(offset, self._taken.get(key, 0)) for key, offset in found.items()})

    def _cut(self) -> None:
        """Note how far a bounded run has come; nothing behind its ends is kept."""
        ends = self._assignment.ends or {}
        self._reach(self._buffer.ends)
        over = {key: ends[key] for key, offset in self._taken.items() if offset > ends[key]}
        if over:
            self._buffer.cut(ends)
            self._taken.update(over)
            self._buffer.ends.update(over)  # no record may lie right in front of the end
        self._pause(key for key in self._taken if key not in self._paused and self._ended(key))

    def _ended(self, key: Key) -> bool:
        """Whether everything up to the bounded end of a partition was taken."""
        ends = self._assignment.ends
        return ends is not None and max(self._taken.get(key, 0), self._assignment.next.get(key, 0)) >= ends[key]

    def _complete(self) -> bool:
        """Whether a bounded run has taken everything."""
        return self._assignment.ends is not None and all(self._ended(key) for key in self._assignment.next)

    def _pause(self, keys: Iterable[Key]) -> None:
        """Stop fetching partitions."""
        found = list(keys)
        if found:
            self._tap.pause(found)
            self._paused.update(found)
