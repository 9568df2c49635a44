"""Record ids by the kernel: what :mod:`thalweg.arrow.record_id` makes one by one, for a whole batch without a Python object a record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from thalweg.arrow import metadata
from thalweg.arrow.batch import RawBatch
from thalweg.arrow.kernel_rows import payload_views, readonly
from thalweg.arrow.record_id import part, record_ids
from thalweg.kernels import blake3, record_head

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from thalweg.kernels.memory import Bytes, Words

_MOST_BYTES: Final = (1 << 31) - 1
"""What offsets of 32 bits can tell."""
_EMPTY: Final = readonly(np.zeros(0, np.uint8))


def kernel_record_ids(raw: RawBatch, cluster: str | None) -> pa.Array:
    """The ids of all records of a batch, fixed_size_binary(16)[rows]; what :func:`thalweg.arrow.record_id.record_ids` gives."""
    heads = _heads(raw, cluster)
    return record_ids(raw, cluster) if heads is None else digests(*heads, raw.payload)


def digests(heads: Bytes, head_offs: Words, payloads: pa.BinaryArray) -> pa.Array:
    """The first 16 bytes of BLAKE3 over each head and its payload: fixed_size_binary(16)[n], n = len(payloads).

    ``heads`` uint8[], ``head_offs`` int32[n + 1].
    """
    out = np.zeros(blake3.DIGEST * len(payloads), np.uint8)
    blake3.digests(
        readonly(heads), readonly(head_offs), *payload_views(payloads), np.zeros(blake3.WORK, np.uint8), np.zeros(blake3.STATES, np.int64),
        np.zeros(blake3.BLOCKS, np.uint32), np.zeros(blake3.CHAINS, np.uint32), np.zeros(blake3.CHAINS, np.uint32),
        np.zeros(blake3.STACKS, np.uint32), out,
    )  # fmt: skip
    return pa.Array.from_buffers(pa.binary(blake3.DIGEST), len(payloads), [None, pa.py_buffer(out)])


def _heads(raw: RawBatch, cluster: str | None) -> tuple[Bytes, Words] | None:
    """What stands before each payload; None where it takes more bytes than offsets can tell."""
    topic = payload_views(metadata.column(raw.records, "source_topic").cast(pa.binary()))
    message = payload_views(metadata.column(raw.records, "source_message_id"))
    prefix = np.frombuffer(part(None if cluster is None else cluster.encode()), np.uint8)
    size = raw.rows * (len(prefix) + record_head.FIXED) + _extent(topic[1]) + _extent(message[1]) + record_head.SPARE
    if size > _MOST_BYTES:
        return None
    out, out_offs = np.empty(size, np.uint8), np.zeros(raw.rows + 1, np.int32)
    parts = _numbers(metadata.column(raw.records, "source_partition"), np.int32)
    places = _numbers(metadata.column(raw.records, "source_offset"), np.int64)
    _, offs, present = payload_views(raw.payload)
    record_head.heads(
        readonly(prefix), *topic, parts[0], parts[1], places[0], places[1], message[0], message[1], message[2], offs, present, out, out_offs
    )
    return out, out_offs


def _extent(offs: Words) -> int:
    """Bytes between the first and the last offset."""
    return int(offs[-1]) - int(offs[0])


def _numbers(array: pa.Array, kind: Any) -> tuple[npt.NDArray[Any], Bytes]:  # noqa: ANN401 - a NumPy type
    """Values, and which of them there are (empty when all are)."""
    valid, data = array.buffers()
    values = np.frombuffer(data, kind, len(array), array.offset * np.dtype(kind).itemsize) if len(array) else np.zeros(0, kind)
    if not array.null_count:
        return readonly(values), _EMPTY
    bits = np.unpackbits(np.frombuffer(valid, np.uint8), bitorder="little")[array.offset : array.offset + len(array)]
    return readonly(values), readonly(bits)


def warm_up() -> None:
    """Compile, or load, what ids need."""
    make()


def make() -> Callable[[RawBatch, str | None], pa.Array]:
    """The function; its kernels are compiled, or loaded, by now."""
    kernel_record_ids(RawBatch(pa.record_batch({metadata.PAYLOAD: pa.array([b"x"], pa.binary())}), (), 1), None)
    return kernel_record_ids
