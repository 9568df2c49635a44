"""Record ids by the kernel and by the ``blake3`` wheel on one core, in one run: ``python tests/bench/bench_record_id.py [rows]``."""

from __future__ import annotations

import sys

import pyarrow as pa
from figures import best_seconds, head, show

from thalweg.arrow.batch import RawBatch
from thalweg.arrow.record_id import record_ids
from thalweg.arrow.record_id_kernel import kernel_record_ids

SIZES = (100, 300, 1_000, 10_000)


def records(rows: int, size: int) -> RawBatch:
    """Records of one Kafka partition."""
    return RawBatch(pa.record_batch({
        "payload": pa.array([n.to_bytes(4, "big") * (size // 4) for n in range(rows)], pa.binary()),
        "source_topic": pa.array(["shop.orders"] * rows).dictionary_encode(),
        "source_partition": pa.array([3] * rows, pa.int32()),
        "source_offset": pa.array(range(rows), pa.int64()),
    }), (), 1)


def main(rows: int) -> None:
    """Microseconds a record of each, and how many times the kernel's."""
    head("record ids")
    for size in SIZES:
        batch = records(max(rows * 100 // (size + 100), 1), size)
        kernel = best_seconds(lambda b=batch: kernel_record_ids(b, "4L6g3nShT-eMCtK--X86sw"))
        wheel = best_seconds(lambda b=batch: record_ids(b, "4L6g3nShT-eMCtK--X86sw"))
        show(f"{size} bytes: kernel", kernel / batch.rows * 1e6, "us a record")
        show(f"{size} bytes: blake3 wheel, record by record", wheel / batch.rows * 1e6, "us a record")
        show(f"{size} bytes: kernel is faster by", wheel / kernel, "times")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200_000)
