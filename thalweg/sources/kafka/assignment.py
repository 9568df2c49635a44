"""Which partitions are ours and how far each was returned; what happens when they come and go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confluent_kafka import TopicPartition

from thalweg.errors import SourceFailed
from thalweg.model.position import Partition

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from confluent_kafka import Consumer

    from thalweg.ports.source import Committed, Listener
    from thalweg.sources.kafka.positions import Positions
    from thalweg.sources.kafka.reader import Buffer, Key
    from thalweg.sources.kafka.tap import Tap
    from thalweg.sources.kafka.topics import Topics


class Assignment:
    """The partitions that this process holds. Its callbacks run inside the client's poll, on the reader thread."""

    def __init__(
        self, relation: str, consumer: Consumer, tap: Tap, positions: Positions, topics: Topics, buffer: Buffer, *, cooperative: bool, group: bool,
    ) -> None:
        """Nothing is held yet."""
        self._relation = relation
        self._consumer = consumer
        self._tap = tap
        self._positions = positions
        self._topics = topics
        self._buffer = buffer
        self._cooperative = cooperative
        self.eager = not cooperative
        """Whether the assignment can only be changed as a whole: a group of the older kind."""
        self._group = group
        self.next: dict[Key, int] = {}
        """Offset behind what was returned last, by held partition."""
        self.ends: dict[Key, int] | None = None
        """Where a bounded run ends; None when it does not."""
        self.turned: set[Key] = set()
        """Partitions that went since :meth:`settle` was called last."""
        self.closing = False
        """Set before the client leaves the group: nobody is to be told any more."""
        self.failure: BaseException | None = None
        """What a callback raised; the client would swallow its kind, so it waits here."""

    def partition(self, key: Key) -> Partition:
        """The model's name of a partition."""
        return Partition(self._relation, *key)

    def finished(self) -> bool:
        """Whether every held partition was returned up to its end."""
        return self.ends is not None and all(self.next[key] >= self.ends[key] for key in self.next)

    def hold(self, keys: Collection[Key], listener: Listener, ends: Mapping[Key, int] | None) -> None:
        """Take partitions without a group."""
        self.ends = None if ends is None else dict(ends)
        self.eager = False
        starts = self._begin(keys, listener)
        self._tap.hold(keys)
        self._consumer.assign([TopicPartition(*key, offset) for key, offset in starts.items()])
        self._tap.held(starts)
        listener.started({self.partition(key): offset for key, offset in starts.items()})

    def callbacks(self, listener: Listener) -> dict[str, Callable[[Consumer, list[TopicPartition]], None]]:
        """What ``subscribe`` wants to know."""
        return {
            "on_assign": lambda _consumer, found: self._guarded(lambda: self._assigned(found, listener)),
            "on_revoke": lambda _consumer, found: self._guarded(lambda: self._revoked(found, listener)),
            "on_lost": lambda _consumer, found: self._guarded(lambda: self._lost(found, listener)),
        }

    def settle(self) -> None:
        """Raise what a callback raised; forget which partitions went."""
        self.turned.clear()
        if self.failure is not None:
            failure, self.failure = self.failure, None
            raise failure

    def restart(self, key: Key, offset: int, listener: Listener) -> None:
        """Begin a held partition anew at ``offset``, in front of its old position: what it was before is gone.

        Raises SourceFailed when the record of a sink says that the partition, under the same topic id, was further.
        """
        partition = self.partition(key)
        self.drop([key])
        self.turned.discard(key)
        listener.lost([partition])
        self._topics.identify({key[0]})
        chosen = listener.assigned({partition: None})[partition]
        if chosen is not None and chosen > offset:
            message = f"a sink has records up to offset {chosen}, but the topic now ends before"
            raise SourceFailed(message, where=str(partition), hint="if the topic's records were really taken away, write the target again")
        self.next[key] = offset if chosen is None else chosen
        listener.started({partition: self.next[key]})

    def verify(self) -> None:
        """See whether what is held is still of the topics that it was taken from; raises SourceFailed."""
        self._topics.verify({topic for topic, _ in self.next})

    def drop(self, keys: Iterable[Key]) -> None:
        """Forget held partitions and everything that was taken of them and not returned."""
        gone = set(keys)
        self._buffer.drop(gone)
        self.turned |= gone
        for key in gone:
            self.next.pop(key, None)

    def _begin(self, keys: Collection[Key], listener: Listener) -> dict[Key, int]:
        """Ask the listener where to start, and the brokers where it leaves that open."""
        self._topics.identify({topic for topic, _ in keys})
        committed: Mapping[Key, Committed | None] = self._positions.committed(keys) if self._group else dict.fromkeys(keys)
        chosen = listener.assigned({self.partition(key): committed[key] for key in keys})
        starts = {key: chosen.get(self.partition(key)) for key in keys}
        resolved = self._positions.starts([key for key, offset in starts.items() if offset is None])
        found = {key: resolved[key] if offset is None else offset for key, offset in starts.items()}
        self.next.update(found)
        return found

    def _assigned(self, found: list[TopicPartition], listener: Listener) -> None:
        """The group gives us partitions."""
        keys = [(tp.topic, tp.partition) for tp in found]
        starts = self._begin(keys, listener) if keys else {}
        targets = [TopicPartition(*key, offset) for key, offset in starts.items()]
        self._tap.hold(keys)
        if self._cooperative:
            self._consumer.incremental_assign(targets)
        else:
            self._consumer.assign(targets)
        self._tap.held(starts)
        if keys:
            listener.started({self.partition(key): offset for key, offset in starts.items()})

    def _revoked(self, found: list[TopicPartition], listener: Listener) -> None:
        """The group takes partitions back and waits until we are done with them."""
        held = [(tp.topic, tp.partition) for tp in found if (tp.topic, tp.partition) in self.next]
        self._buffer.drop(set(held))
        if held:
            listener.revoked([self.partition(key) for key in held])
        self._release(found, held)

    def _lost(self, found: list[TopicPartition], listener: Listener) -> None:
        """Partitions are somebody else's already."""
        held = [(tp.topic, tp.partition) for tp in found if (tp.topic, tp.partition) in self.next]
        self.drop(held)
        if held:
            listener.lost([self.partition(key) for key in held])
        self._release(found, held)

    def _release(self, found: list[TopicPartition], held: list[Key]) -> None:
        """Tell the client that they may go."""
        self.drop(held)
        self._tap.release([(tp.topic, tp.partition) for tp in found])
        if self._cooperative:
            self._consumer.incremental_unassign(found)
        else:
            self._consumer.unassign()

    def _guarded(self, callback: Callable[[], None]) -> None:
        """Run a callback; what it raises waits until the client has returned."""
        try:
            if self.failure is None and not self.closing:
                callback()
        except BaseException as e:  # noqa: BLE001 - it is raised again by settle(), outside of the client's C code
            self.failure = e
