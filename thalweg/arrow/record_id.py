"""Record ids: the first 16 bytes of BLAKE3 over a length-prefixed, NULL-tagged encoding of where a record lies and what it holds.

Each of cluster, topic, partition, position and payload is encoded as one tag byte (0: NULL, 1: present), then for a present one its length as
8 bytes little-endian and its bytes. Text is UTF-8, partition and offset are 8 bytes little-endian; position is the offset, or the message id.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pyarrow as pa
from blake3 import blake3

from thalweg.arrow import metadata

if TYPE_CHECKING:
    from thalweg.arrow.batch import RawBatch

_NULL = b"\x00"


def part(value: bytes | None) -> bytes:
    """Tag, length, bytes: how one part of an id is encoded."""
    return _NULL if value is None else b"\x01" + struct.pack("<Q", len(value)) + value


def record_id(cluster: str | None, topic: str | None, partition: int | None, position: int | bytes | None, payload: bytes | None) -> bytes:
    """The id of one record, 16 bytes."""
    number = position if position is None or isinstance(position, bytes) else struct.pack("<q", position)
    parts = (
        None if cluster is None else cluster.encode(),
        None if topic is None else topic.encode(),
        None if partition is None else struct.pack("<q", partition),
        number,
        payload,
    )
    return blake3(b"".join(map(part, parts))).digest(length=16)


def record_ids(raw: RawBatch, cluster: str | None) -> pa.Array:
    """The ids of all records of a batch, fixed_size_binary(16)[rows]; ``cluster`` is the broker's cluster id, never an alias."""
    topics = metadata.column(raw.records, "source_topic").to_pylist()
    partitions = metadata.column(raw.records, "source_partition").to_pylist()
    offsets = metadata.column(raw.records, "source_offset").to_pylist()
    messages = metadata.column(raw.records, "source_message_id").to_pylist()
    payloads = raw.payload.to_pylist()
    positions = [o if o is not None else m for o, m in zip(offsets, messages, strict=True)]
    ids = [record_id(cluster, *where) for where in zip(topics, partitions, positions, payloads, strict=True)]
    return pa.array(ids, pa.binary(16))
