"""What crosses between bytes and columns: records as polled, rows as decoded, and the ones that could not be."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from thalweg.arrow.metadata import PAYLOAD

if TYPE_CHECKING:
    import pyarrow as pa

    from thalweg.model.position import Span


@dataclass(slots=True)
class BadRows:
    """Rows that a step could not handle: four lists of one length, in ascending row order once sorted."""

    rows: list[int] = field(default_factory=list)
    """Row numbers in the batch that was given to the step."""
    codes: list[str] = field(default_factory=list)
    """Stable codes such as ``decode.malformed``."""
    messages: list[str] = field(default_factory=list)
    paths: list[str | None] = field(default_factory=list)
    """The field that was at fault, dotted, where known."""

    def add(self, row: int, code: str, message: str, path: str | None = None) -> None:
        """Note one bad row."""
        self.rows.append(row)
        self.codes.append(code)
        self.messages.append(message)
        self.paths.append(path)

    def extend(self, other: BadRows) -> None:
        """Note every bad row of another step."""
        self.rows += other.rows
        self.codes += other.codes
        self.messages += other.messages
        self.paths += other.paths

    def __len__(self) -> int:
        """Number of bad rows."""
        return len(self.rows)


@dataclass(frozen=True, slots=True)
class RawBatch:
    """Records as one source polled them, before anything was decoded.

    ``records`` has the column ``payload`` (binary, NULL for a tombstone) and those metadata columns that the transport
    supplies, named without prefix (``arrow.metadata.FIELDS``). Rows of one partition are in offset order. ``spans`` may
    reach past the last record (compaction holes, control records, partition EOF) and may be all there is.
    """

    records: pa.RecordBatch
    spans: tuple[Span, ...]
    nbytes: int
    """Payload, key and header bytes, for budgets and queues."""
    bad: BadRows = field(default_factory=BadRows)
    """Records that the transport itself could not hand over whole (``source.header``); their rows are in ``records``."""

    @property
    def rows(self) -> int:
        """Number of records."""
        return int(self.records.num_rows)

    @property
    def payload(self) -> pa.BinaryArray:
        """The payload column, binary[rows]."""
        return self.records.column(self.records.schema.get_field_index(PAYLOAD))


@dataclass(frozen=True, slots=True)
class Decoded:
    """Columns of the rows that decoded, where each came from, and the rows that did not."""

    batch: pa.RecordBatch
    rows: pa.Int32Array
    """For each row of ``batch`` its row in the input, ascending; int32[batch.num_rows], no NULLs."""
    bad: BadRows
