"""Errors that come while reading: which end the run, which pass, which move a position, which need a new client."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.errors import SourceFailed
from thalweg.model.events import Notice, OffsetReset
from thalweg.sources.kafka import client, faults

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from confluent_kafka import Consumer, KafkaError

    from thalweg.model.position import Partition
    from thalweg.ports.source import SourceContext
    from thalweg.sources.kafka.options import Place
    from thalweg.sources.kafka.reader import Fault, Key
    from thalweg.sources.kafka.topics import Topics


class Rebuild(Exception):
    """The client is of no use any more, and a new one will be."""


class Trouble:
    """Keeps what the client complains about until the source can act on it."""

    def __init__(self, context: SourceContext, place: Place, conf: Mapping[str, str]) -> None:
        """No complaint yet."""
        self._context = context
        self._where = str(place)
        self._place = place
        self._conf = conf
        self._refused: KafkaError | None = None
        self._fatal: KafkaError | None = None
        self._heard: str | None = None

    def noticed(self, error: KafkaError) -> None:
        """The client's error callback: runs inside poll."""
        if error.fatal():
            self._fatal = error
        elif error.name() in faults.REFUSED:
            self._refused = error
        else:
            if error.name() != "_ALL_BROKERS_DOWN":
                self._heard = client.scrub(error.str(), self._conf)
            self._say("warning", "kafka.broker", error)

    def explained(self, find: Callable[[], list[Key]]) -> list[Key]:
        """What ``find`` finds; where no broker answers, its error also says what the client has heard from them."""
        try:
            return find()
        except SourceFailed as e:
            if self._heard is None or self._heard in e.message:
                raise
            raise SourceFailed(f"{e.message}; the client says: {self._heard}", where=e.where, hint=e.hint) from None

    def check_start(self, consumer: Consumer) -> None:
        """While the first answer is waited for: raise as soon as the broker refuses us."""
        consumer.poll(0)
        self.check()

    def check(self) -> None:
        """Raise what the error callback heard and cannot pass."""
        fatal, self._fatal = self._fatal, None
        if fatal is not None:
            self._raise_fatal(fatal)
        refused, self._refused = self._refused, None
        if refused is not None:
            raise faults.failed("the broker refuses the connection", refused, self._where, self._conf)

    def handle(self, fault: Fault, topics: Topics) -> None:
        """An error that came in place of a message; returns when the run can go on."""
        error, name = fault.error, fault.error.name()
        if error.fatal() or name == "_FATAL":
            self._raise_fatal(error)
        if name == "_AUTO_OFFSET_RESET":
            return
        if name in {"UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION"} and fault.key is not None:
            self._unknown(fault.key[0], error, topics)
        elif name == "_MAX_POLL_EXCEEDED" or faults.passes(error):
            self._say("warning", "kafka.broker", error)
        else:
            where = self._where if fault.key is None else f"{fault.key[0]}[{fault.key[1]}]"
            raise faults.failed("reading failed", error, where, self._conf)

    def reset(self, partition: Partition, old: int, marks: tuple[int, int], policy: str) -> int:
        """Where to go from an offset that the broker no longer has, said aloud; raises SourceFailed when the rule is to fail."""
        low, high = marks
        state = f"offset {old} is not there: the broker has {low} to {high}"
        if policy == "error":
            hint = "'properties.auto.offset.reset' = 'earliest' or 'latest' goes on behind the gap; records between are lost to this pipeline"
            raise SourceFailed(state, where=str(partition), hint=hint)
        new = low if policy == "earliest" else high
        reason = f"{state}; auto.offset.reset is {policy}, which leaves out {max(new - old, 0):,} offsets"
        self._context.observer.on(OffsetReset(self._context.relation, partition, old, new, reason))
        return new

    def _raise_fatal(self, error: KafkaError) -> None:
        """A client that has given up."""
        if faults.cause(error) == "UNRELEASED_INSTANCE_ID":
            self._say("warning", "kafka.instance_held", error)
            raise Rebuild
        raise faults.failed("the Kafka client has given up", error, self._where, self._conf)

    def _unknown(self, topic: str, error: KafkaError, topics: Topics) -> None:
        """The client does not find a topic: gone for good, or not known everywhere yet."""
        if topics.exists(topic):
            topics.verify({topic})
            self._say("warning", "kafka.broker", error)
        elif self._place.pattern is not None:
            self._say("warning", "kafka.topic_gone", error)
        else:
            raise SourceFailed(f"topic {topic!r} was deleted while it was read", where=self._where, hint="start again when it exists")

    def _say(self, level: str, code: str, error: KafkaError) -> None:
        """One line for the log."""
        self._context.observer.on(Notice(level, code, f"{client.scrub(error.str(), self._conf)} ({error.name()})"))
