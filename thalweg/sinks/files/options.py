"""What ``COPY ... STORED AS PARQUET OPTIONS (...)`` understands."""

from __future__ import annotations

from dataclasses import dataclass

from thalweg.model.options import at_least, duration, integer, one_of, option, size

_SECOND_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class FileOptions:
    """Options of the ``files`` sink."""

    roll_bytes: int = option(
        "roll.bytes", at_least(1, size), default=128 << 20, doc="A file that has grown to this size is closed and published."
    )
    roll_age_ns: int = option(
        "roll.age", at_least(1, duration), default=60 * _SECOND_NS, doc="Rows wait at most this long before they are published."
    )
    roll_rows: int | None = option("roll.rows", at_least(1), default=None, doc="A file with this many rows is closed and published.")
    group_rows: int = option("row-group.rows", at_least(1), default=1_000_000, doc="Rows that make a row group.")
    group_bytes: int = option("row-group.bytes", at_least(1, size), default=16 << 20, doc="Bytes in memory that make a row group.")
    max_open: int = option(
        "partition.max-open", at_least(1), default=64, doc="Open files under PARTITIONED BY; when there are more, all are published."
    )
    buffer_bytes: int = option(
        "buffer.bytes", at_least(1, size), default=128 << 20, doc="Rows held in memory over all open files; above it row groups are cut early."
    )
    compression: str = option(
        "compression", one_of("snappy", "zstd", "gzip", "lz4", "none"), default="snappy", doc="Compression of the column chunks."
    )
    compression_level: int | None = option(
        "compression.level", integer, default=None, doc="Level for zstd (1 to 22) or gzip (1 to 9); default: the codec's own."
    )
    dictionary: str = option(
        "parquet.dictionary", default="auto",
        doc="Columns with a dictionary: `auto` (where a sample repeats), `all`, `none`, or names with commas between them.",
    )
    encoding: str = option(
        "parquet.encoding", default="auto",
        doc="`auto` (delta for numbers that lie close together), `plain`, or pairs such as `id=DELTA_BINARY_PACKED, note=PLAIN`.",
    )
