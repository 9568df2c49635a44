"""Settings of the Kafka client: our defaults, the user's properties over them, what is ours over both."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from confluent_kafka import Consumer, KafkaException

from thalweg.errors import SourceFailed, UserError
from thalweg.model.events import Notice
from thalweg.model.options import REDACTED, redact

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from thalweg.model.events import Observer
    from thalweg.sources.kafka.options import KafkaOptions, Place

DEFAULTS: Final[Mapping[str, str]] = {
    "isolation.level": "read_committed",
    # librdkafka's own 1,000 ms stalls a reader that drains faster than it fetches.
    "fetch.queue.backoff.ms": "5",
    # For all partitions together where they share a queue. Messages are bounded too: each costs some 500 bytes beside its own.
    "queued.min.messages": "100000",
    "queued.max.messages.kbytes": "32768",
}
_FEW: Final = 8
"""Partitions that each may have a queue as large as ``_EACH`` says; more of them share what so many would have."""
_EACH: Final[Mapping[str, tuple[int, int]]] = {
    "queued.min.messages": (8_000, 500),
    "queued.max.messages.kbytes": (4_096, 64),
    "fetch.message.max.bytes": (1 << 20, 1 << 16),
}
"""Of one partition: the most, and the least however many there are."""
OURS: Final[Mapping[str, str]] = {"enable.auto.commit": "false", "enable.auto.offset.store": "false", "enable.partition.eof": "true"}
"""Settings that the source's promises rest on."""
RESETS: Final[Mapping[str, str]] = {
    "earliest": "earliest", "smallest": "earliest", "beginning": "earliest",
    "latest": "latest", "largest": "latest", "end": "latest",
    "error": "error", "none": "error",
}
_CONSUMER_ONLY: Final = ("group.", "auto.", "enable.auto", "enable.partition", "fetch.", "queued.", "isolation.", "partition.assignment",
                         "session.", "heartbeat.", "max.poll", "check.crcs", "max.partition.fetch", "allow.auto", "coordinator.", "offset.")


def settings(place: Place, options: KafkaOptions, pipeline: str) -> dict[str, str]:
    """Everything that the consumer is configured with but its brokers and callbacks."""
    user = dict(options.properties)
    user.pop("bootstrap.servers", None)
    user.pop("auto.offset.reset", None)
    conf = {**DEFAULTS}
    conf |= prefetch(options, _FEW)
    conf |= {"client.id": f"twg-{pipeline}", "group.id": f"twg-{pipeline}"}
    if options.discovery_ns is not None:
        conf["topic.metadata.refresh.interval.ms"] = str(max(options.discovery_ns // 1_000_000, 10))
    if place.pattern is not None:
        conf["topic.blacklist"] = "^__(consumer_offsets|transaction_state|share_group_state)$"
    return {**conf, **user, **OURS, "auto.offset.reset": "error"}


def prefetch(options: KafkaOptions, partitions: int) -> dict[str, str]:
    """What the client may hold of each of so many partitions, where each has a queue of its own; nothing that the user has set."""
    if options.reader == "consume":
        return {}
    given = options.properties.keys() | ({"fetch.message.max.bytes"} if "max.partition.fetch.bytes" in options.properties else set())
    return {key: str(max(least, most * _FEW // max(partitions, _FEW))) for key, (most, least) in _EACH.items() if key not in given}


def complaints(options: KafkaOptions) -> list[str]:
    """What the user's properties ask for that the source cannot give."""
    out = []
    for key, ours in OURS.items():
        if options.properties.get(key, ours).lower() != ours:
            out.append(f"'properties.{key}' cannot be changed: positions are committed after data is durable, by the pipeline")
    strategies = [s.strip() for s in options.properties.get("partition.assignment.strategy", "").split(",")]
    if "sticky" in strategies:
        out.append("'properties.partition.assignment.strategy': the client has range, roundrobin and cooperative-sticky, but not sticky")
    reset = options.properties.get("auto.offset.reset")
    if reset is not None and reset not in RESETS:
        out.append(f"'properties.auto.offset.reset': expected earliest, latest or error, found {reset!r}")
    if "test.mock.num.brokers" in options.properties:
        out.append("'properties.test.mock.num.brokers': use the location kafka://embedded/topic")
    return out


def reset_policy(options: KafkaOptions) -> str:
    """``earliest``, ``latest`` or ``error``: what happens when a position no longer exists."""
    return RESETS[options.properties.get("auto.offset.reset", "error")]


def cooperative(conf: Mapping[str, str]) -> bool:
    """Whether partitions come and go one by one rather than all together."""
    return conf.get("group.protocol", "classic").lower() == "consumer" or "cooperative" in conf.get("partition.assignment.strategy", "")


def admin_settings(conf: Mapping[str, str]) -> dict[str, Any]:
    """The part of a consumer's settings that an admin client takes."""
    return {key: value for key, value in conf.items() if not key.startswith(_CONSUMER_ONLY)}


def scrub(message: str, conf: Mapping[str, str]) -> str:
    """``message`` without any secret value of ``conf``."""
    shown = redact(conf)
    for key, value in conf.items():
        if shown[key] == REDACTED and value:
            message = message.replace(value, REDACTED)
    return message


def connect(conf: Mapping[str, Any], on_error: Callable[[Any], None], observer: Observer) -> Consumer:
    """A consumer; raises UserError for a property that the client does not take, SourceFailed for anything else."""
    texts = {key: value for key, value in conf.items() if isinstance(value, str)}
    try:
        return Consumer({**conf, "error_cb": on_error, "logger": ClientLog(observer, texts)})
    except KafkaException as e:
        reason = scrub(e.args[0].str(), texts)
        if e.args[0].name() == "_INVALID_ARG":
            raise UserError(f"the Kafka client refuses its settings: {reason}", hint="check the options under 'properties.'") from None
        raise SourceFailed(f"the Kafka client does not start: {reason}") from None


class ClientLog:
    """What the client library logs, as notices; it looks like a logger to the library."""

    def __init__(self, observer: Observer, conf: Mapping[str, str]) -> None:
        """Only warnings and worse are passed on, without secrets."""
        self._observer = observer
        self._conf = conf

    def log(self, level: int, message: str, *args: object) -> None:
        """Called by the client library from inside poll."""
        if level >= logging.WARNING:
            text = scrub(message % args if args else message, self._conf)
            self._observer.on(Notice("warning", "kafka.client", text))
