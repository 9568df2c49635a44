"""A Kafka topic as a source: group or own assignment, budgets, positions, commits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from confluent_kafka import KafkaException, TopicPartition

from thalweg.arrow.batch import RawBatch
from thalweg.errors import UserError
from thalweg.model.events import CommitFailed, Notice
from thalweg.model.position import Partition, Span
from thalweg.ports.source import Source
from thalweg.sources.kafka import client, embedded, faults, reader
from thalweg.sources.kafka.assignment import Assignment
from thalweg.sources.kafka.intake import Intake
from thalweg.sources.kafka.options import place
from thalweg.sources.kafka.positions import Positions
from thalweg.sources.kafka.tap import FETCH, Tap
from thalweg.sources.kafka.topics import Topics
from thalweg.sources.kafka.trouble import Rebuild, Trouble

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from confluent_kafka import Consumer, KafkaError

    from thalweg.model.position import TopicIdentity
    from thalweg.ports.source import Budget, Listener, SourceContext
    from thalweg.sources.kafka.options import KafkaOptions
    from thalweg.sources.kafka.reader import Fault, Key

_COMMIT_PATIENCE_NS: Final = 60_000_000_000
"""How long the last commit of a bounded run waits for a dead member to leave the group; the client's session time-out is 45 s."""
_COMMIT_S: Final = 5.0
"""How long a commit waits for a broker that is away before it is left out."""
_PAUSE_NS: Final = 500_000_000


class KafkaSource(Source):
    """Reads Kafka topics. Parallel by partition. Delivers every record at least once; positions are the pipeline's to keep."""

    def __init__(self, location: str, options: KafkaOptions, context: SourceContext) -> None:
        """Read the location; connect to nothing."""
        self._place = place(location, options)
        self._options = options
        self._context = context
        self._conf = client.settings(self._place, options, context.pipeline)
        self._bounded = options.bounded_mode != "unbounded"
        self._buffer = reader.Buffer()
        self._cluster: embedded.Cluster | None = None
        self._trouble = Trouble(context, self._place, self._conf)
        self._listener: Listener | None = None
        self._opened = False
        self._identities: dict[str, TopicIdentity] = {}
        self._consumer: Consumer
        self._tap: Tap
        self._assignment: Assignment
        self._intake: Intake
        self._positions: Positions
        self._topics: Topics

    def fill(self, records: Iterable[bytes]) -> int:
        """Put records into the embedded topic, before :meth:`open`."""
        if not self._place.embedded or not self._place.topics:
            raise UserError(f"{self._place} is not an embedded topic, so it cannot be filled")
        return self._borrowed().fill(self._place.topics[0], self._options.embedded_partitions, records)

    def open(self, listener: Listener) -> None:
        """Connect, make sure that the topics are there, and ask for partitions."""
        self._listener = listener
        if self._place.embedded:
            self._prepare_embedded()
        else:
            self._conf["bootstrap.servers"] = self._place.servers
        self._connect()
        self._opened = True

    def identity(self, partition: Partition) -> TopicIdentity:
        """Cluster id and topic id, from memory."""
        return self._identities[partition.topic]

    def poll(self, budget: Budget) -> RawBatch | None:
        """The next records; callbacks of the group run inside."""
        if not self._handled(self._intake.fill(budget)):
            return None
        blocks = self._buffer.take(budget.rows, budget.nbytes)
        spans = self._advance(reader.next_offsets(blocks))
        if not blocks:
            return RawBatch(reader.empty(), spans, 0) if spans else None
        records, nbytes, bad = reader.join(blocks)
        return RawBatch(records, spans, nbytes, bad)

    def idle(self) -> None:
        """Let the client run its callbacks; partitions are paused when the stall lasts."""
        self._handled(self._intake.touch())

    def seek(self, positions: Mapping[Partition, int]) -> None:
        """Go to these offsets; partitions that are not held any more are left alone."""
        for partition, offset in positions.items():
            key = (partition.topic, partition.index)
            if key in self._assignment.next:
                self._assignment.next[key] = offset
                self._intake.place(key, offset)

    def commit(self, positions: Mapping[Partition, int], metadata: str) -> Mapping[Partition, int]:
        """Commit next-fetch positions of held partitions; what a rebalance overtook is left out."""
        held = {p: offset for p, offset in positions.items() if (p.topic, p.index) in self._assignment.next}
        if not held or not self._context.group:
            return {}
        deadline = self._context.clock.monotonic_ns() + _COMMIT_PATIENCE_NS
        while True:
            done, reason = self._commit_once(held, metadata)
            # A run that assigns its own partitions is refused while a member of the group, perhaps a dead one, holds on.
            if reason is None or not self.finished() or self._context.clock.monotonic_ns() >= deadline:
                break
            self._context.clock.sleep_ns(_PAUSE_NS)
        if reason is not None:
            self._context.observer.on(CommitFailed(self._context.relation, reason))
        return done

    def lag(self) -> int | None:
        """Offsets between what was returned and the end, as the last fetch answers told it."""
        total = 0
        for key, offset in self._assignment.next.items():
            high = self._tap.end(key)
            if high is None:
                return None
            end = high if self._assignment.ends is None else min(high, self._assignment.ends[key])
            total += max(0, end - offset)
        return total

    def finished(self) -> bool:
        """Whether a bounded run has returned everything up to its ends."""
        return self._bounded and self._assignment.finished()

    def close(self) -> None:
        """Leave the group and disconnect."""
        if self._listener is not None and hasattr(self, "_consumer"):
            self._leave()
        if self._cluster is not None:
            self._cluster = None
            embedded.clusters().give_back(self._context.pipeline)

    def _borrowed(self) -> embedded.Cluster:
        """The embedded brokers, borrowed once."""
        if self._cluster is None:
            self._cluster = embedded.clusters().borrow(self._context.pipeline)
        return self._cluster

    def _prepare_embedded(self) -> None:
        """Start the embedded brokers, make the topics and fill them from a file of lines."""
        cluster, partitions, data = self._borrowed(), self._options.embedded_partitions, self._options.embedded_data
        self._conf["bootstrap.servers"] = cluster.brokers.bootstrap
        for topic in self._place.topics:
            cluster.brokers.create_topic(topic, partitions)
        if data is not None and not data.endswith(".sql"):
            cluster.load(self._place.topics[0], partitions, data, self._context.folder)

    def _connect(self) -> None:
        """Make the client and everything that hangs on it."""
        context, conf = self._context, self._conf
        patience = faults.Patience(
            context.clock, self._options.connect_timeout_ns, str(self._place), conf, lambda: not self._opened and context.stopping()
        )
        self._consumer = consumer = client.connect(conf, self._noticed, context.observer)
        self._tap = Tap(consumer, conf, self._options.reader, context.clock, self._said, context.stopping)
        self._positions = Positions(consumer, self._options, patience)
        self._topics = Topics(consumer, self._place, conf, patience, context, self._identities)
        self._assignment = Assignment(
            context.relation, consumer, self._tap, self._positions, self._topics, self._buffer,
            cooperative=client.cooperative(conf), group=context.group,
        )
        self._intake = Intake(consumer, self._tap, self._assignment, self._buffer, context.clock)
        keys = self._trouble.explained(lambda: self._topics.find(lambda: self._trouble.check_start(consumer)))
        fitting = client.prefetch(self._options, len(keys))
        if conf | fitting == conf:
            self._ask_for(keys)
        else:  # a client cannot be told later
            conf.update(fitting)
            self._leave()
            self._connect()

    def _leave(self) -> None:
        """Leave the group and let go of the client; its queues first, which the client waits for."""
        if hasattr(self, "_assignment"):
            self._assignment.closing = True
        if hasattr(self, "_tap"):
            self._tap.close()
        self._consumer.close()

    def _noticed(self, error: KafkaError) -> None:
        """The client's error callback. While we fetch, brokers close the client's idle connections: none of them is down."""
        if error.name() == "_ALL_BROKERS_DOWN" and hasattr(self, "_tap") and self._tap.way == FETCH:
            return
        self._trouble.noticed(error)

    def _said(self, level: str, message: str) -> None:
        """How records come has changed."""
        self._context.observer.on(Notice(level, "kafka.reader", message))

    def _ask_for(self, keys: list[Key]) -> None:
        """Take partitions, or join the group that deals them out."""
        assert self._listener is not None
        if self._bounded or not self._context.group:
            ends = self._positions.ends(keys) if self._bounded else None
            self._assignment.hold(keys, self._listener, ends)
            return
        names = [f"^({self._place.pattern})$"] if self._place.pattern is not None else list(self._place.topics)
        self._consumer.subscribe(names, **self._assignment.callbacks(self._listener))

    def _handled(self, found: list[Fault]) -> bool:
        """Settle what callbacks and the client complained about; False when the client had to be made anew."""
        self._assignment.settle()
        try:
            self._trouble.check()
            for fault in found:
                self._trouble.handle(fault, self._topics)
                if fault.error.name() == "_AUTO_OFFSET_RESET" and fault.key in self._assignment.next:
                    self._reset(fault.key)
        except Rebuild:
            self._rebuild()
            return False
        return True

    def _reset(self, key: Key) -> None:
        """A position that the broker no longer has: move it by the user's rule."""
        assert self._listener is not None
        partition, old = self._assignment.partition(key), self._buffer.last(key, self._assignment.next[key])
        new = self._trouble.reset(partition, old, self._positions.watermarks(key), client.reset_policy(self._options))
        if new < old:
            self._assignment.restart(key, new, self._listener)
            new = self._assignment.next[key]
        self._intake.place(key, new)

    def _rebuild(self) -> None:
        """The client is dead for good but the source is not: begin again with a new one."""
        assert self._listener is not None
        held = [self._assignment.partition(key) for key in self._assignment.next]
        self._assignment.drop(list(self._assignment.next))
        self._assignment.closing = True
        if held:
            self._listener.lost(held)
        self._leave()
        self._context.clock.sleep_ns(_PAUSE_NS)
        self._connect()

    def _advance(self, moved: dict[Key, int]) -> tuple[Span, ...]:
        """Move positions behind what is returned, and over end marks; the offsets covered, by partition."""
        for key, end in self._buffer.take_ends().items():
            moved[key] = max(moved.get(key, 0), end)
        spans = []
        for key, found in moved.items():
            end = found if self._assignment.ends is None else min(found, self._assignment.ends[key])
            start = self._assignment.next[key]
            if end > start:
                spans.append(Span(self._assignment.partition(key), start, end))
                self._assignment.next[key] = end
        return tuple(spans)

    def _commit_once(self, positions: Mapping[Partition, int], metadata: str) -> tuple[dict[Partition, int], str | None]:
        """One try: what went through, and why the rest did not."""
        targets = [TopicPartition(p.topic, p.index, offset, metadata) for p, offset in positions.items()]
        try:
            # A commit has no time-out of its own: one that starts while the broker is away hangs until it is back. This question has one.
            self._consumer.committed(targets[:1], timeout=_COMMIT_S)
            answers = self._consumer.commit(offsets=targets, asynchronous=False)
        except KafkaException as e:
            return {}, self._overtaken(e.args[0])
        refused = {(tp.topic, tp.partition): tp.error for tp in answers if tp.error is not None}
        reasons = [self._overtaken(error) for error in refused.values()]
        done = {p: offset for p, offset in positions.items() if (p.topic, p.index) not in refused}
        return done, reasons[0] if reasons else None

    def _overtaken(self, error: KafkaError) -> str:
        """Why a commit did not go through this time; raises SourceFailed when it never will."""
        if error.name() not in faults.REBALANCED and not faults.passes(error):
            raise faults.failed("offsets cannot be committed", error, str(self._place), self._conf)
        return f"{error.name()}: {client.scrub(error.str(), self._conf)}"
