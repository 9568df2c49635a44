"""What a codec must be: bytes to columns, bad rows by index, never a lost batch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from thalweg.arrow.batch import Decoded
    from thalweg.ports.schemas import SchemaRegistry


@dataclass(frozen=True, slots=True)
class DecodeRequest:
    """What a table says about its payload."""

    format: str
    """As written: ``json``, ``avro``, ``avro-confluent``, ``raw``, ..."""
    declared: pa.Schema | None
    """Payload columns of the column list: the reader's schema. None: the format's own schema is the table's."""
    options: Any
    """The codec's own options dataclass."""
    topic: str | None
    """Topic name for subject lookups; None for a pattern."""
    metadata_prefix: str
    """A payload field whose name starts with this is refused by name."""
    is_key: bool = False
    wanted: frozenset[str] | None = None
    """The columns that somebody reads; None: all. A decoder may leave the others out (``arrow.splice.kept``), but checks them as if it read them, so
    that a row is bad whether or not its faulty field is read."""


def subject_of(request: DecodeRequest) -> str | None:
    """The subject that the option names, else the topic's own."""
    if request.options.subject is not None:
        return str(request.options.subject)
    return None if request.topic is None else f"{request.topic}-{'key' if request.is_key else 'value'}"


@dataclass(frozen=True, slots=True)
class Split:
    """Where the records of a block begin."""

    offsets: npt.NDArray[np.int32]
    """int32[n + 1]: record ``i`` is ``block[offsets[i]:offsets[i + 1]]``. After a fault the last one is all that is left of the block."""
    fault: str | None = None
    """Why the last record is none: it cannot be read, or bytes are left behind it."""


class BlockSplitter(Protocol):
    """Finds records in a block of them. Called on the source's thread, while the decoder works on another."""

    def split(self, schema: str, block: bytes, count: int) -> Split:
        """Find ``count`` records that ``schema`` (its text) wrote one behind the other. Raises UserError for a schema that is none."""


class Decoder(ABC):
    """Decodes batches of payloads to one schema. Used by one thread at a time; pure but for schema lookups."""

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """Schema of every decoded batch."""

    @abstractmethod
    def decode(self, payloads: pa.BinaryArray, headers: pa.ListArray | None) -> Decoded:
        """Decode ``payloads`` (binary[n], no NULLs: tombstones are split off before) with the records' headers (list[n] or None).

        One bad payload costs one row: it is in ``bad`` with a code (``decode.framing``, ``decode.schema_unknown``, ``decode.malformed``,
        ``decode.type``, ``decode.reserved``, ``decode.limit``), a message and a path, and leaves no trace in its neighbours. Raises only
        SchemaUnavailable: nothing was decoded, the caller waits and calls again with the same batch.
        """

    @property
    def name(self) -> str:
        """Full name of the record or message that gives the columns; empty where there is none."""
        return ""

    @property
    def blocks(self) -> BlockSplitter | None:
        """Finds records in blocks of this format; None where each payload comes by itself."""
        return None

    @property
    def notices(self) -> tuple[str, ...]:
        """What lies deeper than ``decode.max_depth`` and will become JSON text, one line each; for the start log."""
        return ()

    @property
    def coarse(self) -> tuple[str, ...]:
        """The columns whose unit cannot hold all digits that the wire can, dotted; for the start log."""
        return ()

    @property
    def fallbacks(self) -> Mapping[str, int]:
        """How often each type has been written as JSON text because it lies too deep, since the decoder was made."""
        return {}

    @property
    def finer(self) -> int:
        """How many timestamps and durations had digits finer than their columns' units, which were cut off, since the decoder was made."""
        return 0

    @property
    def slow_rows(self) -> Mapping[str, int]:
        """How many rows a fast decoder has left to the exact path, by format; empty for the exact path itself."""
        return {}


@dataclass(frozen=True, slots=True)
class CodecPlugin:
    """The one name that a module in ``thalweg/codecs/`` exports; ``avro-confluent`` is found in ``codecs/avro.py``."""

    formats: tuple[str, ...]
    options: type
    registry: Callable[[DecodeRequest], tuple[str, str] | None]
    """``(registry plug-in, url)`` that this request needs for its schemas, None when it needs none."""
    resolve: Callable[[DecodeRequest, SchemaRegistry | None], pa.Schema | None]
    """Schema of the payload columns. None when it lies in a registry and none was given. Raises UserError naming the missing option or the
    column whose declared type the wire cannot give; SchemaUnknown or SchemaUnavailable from the registry."""
    decoder: Callable[[DecodeRequest, SchemaRegistry | None], Decoder]
    """Makes the decoder; may ask the registry."""
    settings: tuple[str, ...] = ()
    """Options that the setting of the same name gives where a table does not."""
    unset: tuple[str, ...] = ()
    """Formats that no setting reaches: there the option means something else."""
    fast: str | None = None
    """``module:function`` with the signature ``(request, registry, reference decoder) -> Decoder | None``; loaded by name when it is wanted,
    since it brings the compiler. What it makes gives exactly what the reference gives, and may take its place between two batches."""
    encode_row: Callable[[DecodeRequest, SchemaRegistry | None], Callable[[dict[str, Any]], bytes]] | None = None
    """Row by row encoder for test and quickstart data; the fast encoders come with the Kafka sink."""
