"""What a table of Avro files may say."""

from __future__ import annotations

from dataclasses import dataclass

from thalweg.model.options import at_least, boolean, option, size


@dataclass(frozen=True, slots=True)
class AvroFileOptions:
    """Options of a table ``STORED AS AVRO``."""

    max_block_bytes: int = option(
        "avro.block.max-bytes", at_least(1, size), default=64 << 20, doc="a block that is larger, packed or unpacked, is not read: it counts as damage"
    )
    static: bool = option(
        "static", boolean, default=False, doc="`true`: no source but a static table, which the engine reads as a whole, so that a stream can be joined with it"
    )
