"""The metadata columns: one schema for all transports, NULL where a transport has no such thing."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Sequence

DEFAULT_PREFIX: Final = "_twg_"
ROW: Final = "_twg_row"
"""The hidden column: int32 number of the source record within its epoch. Never leaves the engine."""
PAYLOAD: Final = "payload"
HEADERS: Final = pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))

FIELDS: Final[tuple[tuple[pa.Field, str], ...]] = (
    (pa.field("source_cluster", pa.string()), "cluster id of the source, or its alias"),
    (pa.field("source_topic", pa.string()), "topic the record was read from"),
    (pa.field("source_partition", pa.int32()), "partition of the topic"),
    (pa.field("source_offset", pa.int64()), "offset within the partition (Kafka)"),
    (pa.field("source_message_id", pa.binary()), "serialised message id (Pulsar)"),
    (pa.field("source_leader_epoch", pa.int32()), "leader epoch of the partition (Kafka)"),
    (pa.field("source_key", pa.binary()), "record key, bytes as sent; NULL and empty are different"),
    (pa.field("source_timestamp", pa.timestamp("ms", "UTC")), "timestamp of the record; NULL when the broker has none"),
    (pa.field("source_timestamp_type", pa.string()), "CreateTime or LogAppendTime (Kafka)"),
    (pa.field("source_event_time", pa.timestamp("ms", "UTC")), "event time set by the producer (Pulsar)"),
    (pa.field("source_headers", HEADERS), "headers in order, duplicates and NULL values kept"),
    (pa.field("source_producer_id", pa.int64()), "producer id of the batch; NULL, librdkafka does not expose it"),
    (pa.field("source_producer_epoch", pa.int16()), "producer epoch of the batch; NULL, librdkafka does not expose it"),
    (pa.field("source_base_sequence", pa.int32()), "base sequence of the batch; NULL, librdkafka does not expose it"),
    (pa.field("source_producer_name", pa.string()), "producer name (Pulsar)"),
    (pa.field("source_sequence_id", pa.int64()), "sequence id given by the producer (Pulsar)"),
    (pa.field("source_ordering_key", pa.binary()), "ordering key (Pulsar)"),
    (pa.field("source_redelivery_count", pa.int32()), "how often the broker delivered the message again (Pulsar)"),
    (pa.field("ingest_ts", pa.timestamp("us", "UTC")), "when Thalweg polled the record"),
    (pa.field("emit_ts", pa.timestamp("us", "UTC")), "when the sink wrote the batch"),
    (pa.field("record_id", pa.binary(16)), "first 16 bytes of BLAKE3 over cluster, topic, partition, position and payload"),
)
"""Every metadata column without its prefix, with the description a created table carries."""

TYPES: Final[dict[str, pa.DataType]] = {field.name: field.type for field, _ in FIELDS}
LOCATOR: Final = ("source_topic", "source_partition", "source_offset", "source_message_id")
AT_SINK: Final = frozenset({"emit_ts"})
"""Columns that nobody can know before the sink writes."""

METADATA_KEYS: Final[dict[str, str]] = {
    **{name.removeprefix("source_"): name for name in TYPES if name.startswith("source_")},
    "ingest_ts": "ingest_ts",
    "record_id": "record_id",
}
"""What ``METADATA FROM 'key'`` accepts: ``'timestamp'``, ``'offset'``, ``'headers'``, ... to the column it reads."""

ERROR_FIELDS: Final[tuple[pa.Field, ...]] = (
    pa.field("error_code", pa.string()),
    pa.field("error_message", pa.string()),
    pa.field("error_relation", pa.string()),
    pa.field("error_path", pa.string()),
    pa.field("pipeline", pa.string()),
    pa.field("failed_at", pa.timestamp("us", "UTC")),
)
"""What a dead-letter row says beside the raw columns, without the prefix."""


class Policy(Enum):
    """Which metadata columns a decoded lane carries."""

    NONE = "none"
    LOCATOR = "locator"
    ALL = "all"

    def columns(self) -> tuple[str, ...]:
        """Column names without prefix, in the order of FIELDS."""
        if self is Policy.NONE:
            return ()
        if self is Policy.LOCATOR:
            return LOCATOR
        return tuple(TYPES)


def raw_schema(prefix: str) -> pa.Schema:
    """The raw lane: ``payload`` and every metadata column but those that only a sink knows."""
    fields = [pa.field(PAYLOAD, pa.binary())]
    fields += [field.with_name(prefix + field.name) for field, _ in FIELDS if field.name not in AT_SINK]
    return pa.schema(fields)


def dead_letter_schema(prefix: str) -> pa.Schema:
    """A dead-letter lane: the raw columns, then what went wrong."""
    return pa.schema([*raw_schema(prefix), *(field.with_name(prefix + field.name) for field in ERROR_FIELDS)])


def column(records: pa.RecordBatch, name: str) -> pa.Array:
    """Metadata column ``name`` (no prefix) of polled records; all NULL where the transport has no such thing."""
    at = records.schema.get_field_index(name)
    if at < 0:
        return pa.nulls(records.num_rows, TYPES[name])
    found = records.column(at)
    if pa.types.is_dictionary(found.type):
        found = found.cast(TYPES[name])
    return found


def columns(records: pa.RecordBatch, names: Sequence[str]) -> list[pa.Array]:
    """Several metadata columns of polled records."""
    return [column(records, name) for name in names]
