"""What a Kafka table may say: location, topics, start, end and client properties."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from thalweg.errors import OptionError, UserError
from thalweg.model.options import at_least, duration, integer, one_of, option, passthrough, redact_url

if TYPE_CHECKING:
    from collections.abc import Mapping

EMBEDDED = "embedded"
STARTUP_MODES = ("earliest-offset", "latest-offset", "group-offsets", "timestamp", "specific-offsets")
BOUNDED_MODES = ("unbounded", "latest-offset", "group-offsets", "timestamp", "specific-offsets")
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_PAIR = re.compile(r"\s*partition\s*:\s*(\d+)\s*,\s*offset\s*:\s*(\d+)\s*")


def specific_offsets(value: str) -> Mapping[int, int]:
    """Offsets by partition, ``partition:0,offset:42;partition:1,offset:300``."""
    out: dict[int, int] = {}
    for part in filter(None, (p.strip() for p in value.split(";"))):
        match = _PAIR.fullmatch(part)
        if match is None:
            message = f"expected 'partition:0,offset:42;partition:1,offset:300', found {value!r}"
            raise ValueError(message)
        if int(match[1]) in out:
            message = f"partition {match[1]} is given twice in {value!r}"
            raise ValueError(message)
        out[int(match[1])] = int(match[2])
    if not out:
        message = "expected at least one 'partition:0,offset:42'"
        raise ValueError(message)
    return out


@dataclass(frozen=True, slots=True)
class KafkaOptions:
    """Options of a table ``STORED AS KAFKA``; keys follow Flink's where Flink has them."""

    topic: str | None = option("topic", default=None, doc="topic, or several with `;`, when the location names none")
    topic_pattern: str | None = option(
        "topic-pattern", default=None, doc="regular expression that a topic's whole name must match; new topics are found while running"
    )
    properties: Mapping[str, str] = passthrough("properties.", doc="passed to the Kafka client (librdkafka) as they are")
    startup_mode: str = option(
        "scan.startup.mode", one_of(*STARTUP_MODES), default="earliest-offset",
        doc="where a partition starts when neither a sink's record nor the group has a position for it",
    )
    startup_timestamp_ms: int | None = option(
        "scan.startup.timestamp-millis", at_least(0), default=None, doc="start of mode `timestamp`, milliseconds since 1970"
    )
    startup_offsets: Mapping[int, int] | None = option(
        "scan.startup.specific-offsets", specific_offsets, default=None, doc="start of mode `specific-offsets`; others start at the earliest"
    )
    bounded_mode: str = option(
        "scan.bounded.mode", one_of(*BOUNDED_MODES), default="unbounded", doc="where the run ends; ends are fixed when it starts"
    )
    bounded_timestamp_ms: int | None = option(
        "scan.bounded.timestamp-millis", at_least(0), default=None, doc="end of mode `timestamp`: the first record at or after it is left out"
    )
    bounded_offsets: Mapping[int, int] | None = option(
        "scan.bounded.specific-offsets", specific_offsets, default=None, doc="end of mode `specific-offsets`; others end where they are now"
    )
    discovery_ns: int | None = option(
        "scan.topic-partition-discovery.interval", duration, default=None, doc="how often new partitions and topics are looked for (client: 5 min)"
    )
    connect_timeout_ns: int = option(
        "connect.timeout", at_least(1_000_000, duration), default=30_000_000_000, doc="how long the start may wait for brokers and answers"
    )
    reader: str = option(
        "reader", one_of("auto", "fetch", "columnar", "consume"), default="auto",
        doc="how records come: fetched from the brokers as whole batches, as columns from the Kafka client's queues, or from the client one by one; "
        "all give the same, and `auto` takes the first that can be had",
    )
    embedded_partitions: int = option(
        "embedded.partitions", at_least(1, integer), default=4, doc="partitions of a topic on `kafka://embedded`"
    )
    embedded_data: str | None = option(
        "embedded.data", default=None, doc="a `.jsonl` file (one record a line) or a `.sql` file (one SELECT) that fills the embedded topic"
    )
    ends_by_now: bool = False
    """Whether no partition's end lies behind its last record of now: whoever only looks does not wait for records to come. No user says it."""


def up_to_now(options: KafkaOptions) -> KafkaOptions:
    """The options of a look at the table: its own end, or now where it has none; its own start where that is a place in the topic.

    Where a run would go on (`group-offsets`) or begin to listen (`latest-offset`) is none: such a look starts at the first record.
    """
    start = options.startup_mode if options.startup_mode in {"timestamp", "specific-offsets"} else "earliest-offset"
    end = "latest-offset" if options.bounded_mode == "unbounded" else options.bounded_mode
    return replace(options, startup_mode=start, bounded_mode=end, ends_by_now=True)


@dataclass(frozen=True, slots=True)
class Place:
    """Where the records are: brokers, and topics by name or by pattern."""

    servers: str
    topics: tuple[str, ...]
    pattern: str | None

    @property
    def embedded(self) -> bool:
        """Whether the brokers run inside this process."""
        return self.servers == EMBEDDED

    def matches(self, topic: str) -> bool:
        """Whether ``topic`` is read."""
        return re.fullmatch(self.pattern, topic) is not None if self.pattern is not None else topic in self.topics

    def __str__(self) -> str:
        """As a user would write it."""
        return f"kafka://{self.servers}/{self.pattern if self.pattern is not None else ';'.join(self.topics)}"


def place(location: str, options: KafkaOptions) -> Place:
    """Read the location together with ``topic`` and ``topic-pattern``; raises UserError saying what is wrong."""
    url = urlsplit(location)
    if url.scheme != "kafka":
        raise UserError(f"a Kafka location looks like 'kafka://host:9092/topic', found {redact_url(location)!r}")
    if "@" in url.netloc:
        raise UserError(f"{redact_url(location)!r} holds a user name", hint="use 'properties.sasl.username' and 'properties.sasl.password'")
    if url.query or url.fragment:
        raise UserError(f"{location!r} has a query or a fragment; a Kafka location has neither")
    servers = _servers(location, url.netloc, options.properties.get("bootstrap.servers"))
    in_url = url.path.strip("/")
    said = [name for name, there in (("LOCATION", in_url), ("'topic'", options.topic), ("'topic-pattern'", options.topic_pattern)) if there]
    if len(said) != 1:
        found = " and ".join(said) if said else "nothing"
        raise OptionError("topic", f"the topic must be named in exactly one of LOCATION, 'topic' and 'topic-pattern'; found {found}")
    if options.topic_pattern is not None:
        return Place(servers, (), _pattern(options.topic_pattern))
    names = tuple(dict.fromkeys(name.strip() for name in (in_url or options.topic or "").split(";") if name.strip()))
    for name in names:
        if not _TOPIC.fullmatch(name) or name in {".", ".."}:
            raise OptionError("topic", f"{name!r} cannot be a topic: a name has up to 249 of the characters a-z A-Z 0-9 . _ -")
    if not names:
        raise OptionError("topic", "no topic is named")
    return Place(servers, names, None)


def _servers(location: str, netloc: str, prop: str | None) -> str:
    """Brokers from the URL or from ``properties.bootstrap.servers``; not from both."""
    if netloc and prop is not None and prop != netloc:
        raise OptionError("properties.bootstrap.servers", "the brokers are named in LOCATION and in 'properties.bootstrap.servers'; use one")
    servers = netloc or prop or ""
    if not servers:
        raise UserError(f"{location!r} names no broker", hint="kafka://host:9092/topic")
    for server in servers.split(",") if servers != EMBEDDED else ():
        host, colon, port = server.rpartition(":")
        if (colon and (not host or not port.isdigit())) or not server.strip():
            raise UserError(f"{location!r}: {server!r} is not host:port")
    return servers


def _pattern(pattern: str) -> str:
    """A pattern that Python's matcher takes; the client compiles it a second time."""
    try:
        re.compile(pattern)
    except re.error as e:
        raise OptionError("topic-pattern", f"option 'topic-pattern': {e} in {pattern!r}") from None
    return pattern
