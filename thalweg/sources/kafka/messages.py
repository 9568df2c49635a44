"""Client messages to columns, one Python object after the other: the reader that works everywhere."""

from __future__ import annotations

from operator import methodcaller
from typing import TYPE_CHECKING, Final, Protocol, cast

import numpy as np
import pyarrow as pa
from confluent_kafka import KafkaError

from thalweg.arrow.batch import BadRows
from thalweg.arrow.metadata import HEADERS
from thalweg.sources.kafka.reader import BAD_HEADER, Fault, Fields, Taken, make_block

if TYPE_CHECKING:
    from confluent_kafka import Message

    from thalweg.sources.kafka.reader import Block, Key

EOF: Final = KafkaError._PARTITION_EOF  # noqa: SLF001 - the client's public name for it


class Record(Protocol):
    """A client message that carries a record and no error: what the client's own type leaves open is there."""

    def topic(self) -> str:
        """Topic."""

    def partition(self) -> int:
        """Partition."""

    def offset(self) -> int:
        """Offset."""

    def key(self) -> bytes | None:
        """Key, bytes as sent."""

    def value(self) -> bytes | None:
        """Payload, None for a tombstone."""

    def headers(self) -> list[tuple[str, bytes | None]] | None:
        """Headers in order, None where there are none. Asked once only: see :func:`to_block`."""

    def timestamp(self) -> tuple[int, int]:
        """Kind (0 none, 1 create time, 2 log append time) and milliseconds since 1970."""

    def leader_epoch(self) -> int | None:
        """Leader epoch, None where the broker gives none."""


def sort(messages: list[Message], stamp_us: int) -> Taken:
    """What one call of ``consume`` returned: records, ends of partitions, real errors."""
    good: list[Message] = []
    taken = Taken()
    for message in messages:
        error = message.error()
        if error is None:
            good.append(message)
            continue
        topic, index = message.topic(), message.partition()
        key = None if topic is None or index is None or index < 0 else (topic, index)
        if error.code() == EOF and key is not None:
            taken.ends[key] = cast("int", message.offset())
        else:
            taken.faults.append(Fault(error, key))
    if good:
        taken.blocks.append(to_block(cast("list[Record]", good), stamp_us))
    return taken


def to_block(messages: list[Record], stamp_us: int) -> Block:
    """Messages as columns."""
    places: dict[Key, int] = {}
    at = np.array([places.setdefault((m.topic(), m.partition()), len(places)) for m in messages], np.int32)
    values, keys = [m.value() for m in messages], [m.key() for m in messages]
    stamps = [m.timestamp() for m in messages]
    bad = BadRows()
    fields = Fields(
        tuple(places), at, np.array([m.offset() for m in messages], np.int64), pa.array(values, pa.binary()), pa.array(keys, pa.binary()),
        np.array([-1 if (epoch := m.leader_epoch()) is None else epoch for m in messages], np.int32),
        np.array([kind for kind, _ in stamps], np.int8), np.array([time for _, time in stamps], np.int64), _headers(messages, bad),
        sum(len(v or b"") + len(k or b"") for v, k in zip(values, keys, strict=True)), bad,
    )  # fmt: skip
    return make_block(fields, stamp_us)


def _headers(messages: list[Record], bad: BadRows) -> pa.Array | None:
    """The header column; a key that is not UTF-8 makes a bad row with NULL headers."""
    # The client answers with null pointers AND an exception. Only a call that goes through methodcaller notices: a plain call of a
    # C method is specialised by the interpreter, without that check. Asked twice, there is no exception, so nobody asks twice.
    headers_of = methodcaller("headers")
    found: list[list[tuple[str, bytes | None]] | None] = []
    for message in messages:
        try:
            found.append(headers_of(message) or [])
        except SystemError as e:
            bad.add(len(found), BAD_HEADER, f"a header key is not UTF-8: {e.__cause__}")
            found.append(None)
    if not any(found) and not bad.rows:
        return None
    return pa.array([None if h is None else [{"key": k, "value": v} for k, v in h] for h in found], HEADERS)
