"""One container file, read from any record on: pieces of records, and of what cannot be read.

A record's offset is its number in the file. It follows from the heads of the blocks alone, so that going to a record unpacks one block only: a
block takes as many numbers as it claims records, or one where that cannot be (no records but data, or damage).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from thalweg.arrow import container
from thalweg.arrow.container import Block, ContainerFault, Header
from thalweg.errors import UserError

if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO

    import numpy.typing as npt

    from thalweg.ports.codec import BlockSplitter

_MOST_RECORDS: Final = 1 << 31
_KEPT: Final = 1 << 20
"""Bytes of a damaged place that go on as its payload."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Records that lie one behind the other."""

    start: int
    """Number of the first one."""
    end: int
    """Number of the record that may come next."""
    data: bytes
    offsets: npt.NDArray[np.int32]
    """int32[n + 1]: where each begins in ``data``."""
    fault: str | None = None
    """Why the last one is no record."""

    @property
    def rows(self) -> int:
        """Records, the one at fault included."""
        return len(self.offsets) - 1

    def after(self, number: int) -> Piece:
        """Without the records before ``number``."""
        skip = min(max(number - self.start, 0), self.rows)
        return Piece(self.start + skip, self.end, self.data, self.offsets[skip:], self.fault if skip < self.rows else None)

    def parted(self, rows: int, nbytes: int) -> tuple[Piece, Piece | None]:
        """The first records, as many as fit but one at least, and the rest."""
        fits = int(np.searchsorted(self.offsets[1:].astype(np.int64) - int(self.offsets[0]), nbytes, "right"))
        taken = min(rows, max(fits, 1))
        if taken >= self.rows:
            return self, None
        return Piece(self.start, self.start + taken, self.data, self.offsets[: taken + 1]), self.after(self.start + taken)


class Walk:
    """Goes through one file once. ``next`` gives its pieces; None is the end."""

    def __init__(self, path: Path, splitter: BlockSplitter, most: int) -> None:
        """Open the file; what is behind its present end is not read. Raises OSError."""
        self.path, self._splitter, self._most = path, splitter, most
        self._file: BinaryIO = path.open("rb")
        self._end = container.size_of(self._file)
        self._number = 0
        self.header: Header | None = None
        self._broken: ContainerFault | None = None
        try:
            self.header = container.read_header(self._file)
        except ContainerFault as e:
            self._broken = e
        self._at = self.header.size if self.header is not None else self._end

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def next(self, start: int) -> Piece | None:
        """The next piece that has a record from number ``start`` on, without what is before it. Raises OSError."""
        while (piece := self._step(start)) is not None:
            if piece.end > start:
                return piece.after(start)
        return None

    @property
    def number(self) -> int:
        """Number of the record that comes next."""
        return self._number

    def _step(self, start: int) -> Piece | None:
        """The next block, which is not unpacked when it ends before ``start``."""
        if self._broken is not None:
            fault, self._broken = self._broken, None
            return self._damage(0, self._end, fault)
        if self.header is None or self._at >= self._end:
            return None
        at = self._at
        try:
            block = container.read_block(self._file, self.header, at, self._end)
        except ContainerFault as e:
            self._at = container.find_sync(self._file, self.header, at, self._end)
            return self._damage(at, self._at, e)
        self._at = block.end
        first, self._number = self._number, self._number + _numbers(block)
        if self._number <= start:
            return Piece(first, self._number, b"", np.zeros(1, np.int32))
        return self._records(block, first)

    def _records(self, block: Block, first: int) -> Piece:
        """The records of a block, as far as they can be told apart."""
        assert self.header is not None
        self._file.seek(block.data_at)
        packed = self._file.read(min(block.size, self._most))
        try:
            data = self._unpacked(block, packed, self.header.codec)
            found = self._splitter.split(self.header.schema, data, block.count)
        except (ContainerFault, UserError) as e:
            return self._piece(first, packed[:_KEPT], f"{self._where(block.at)}: {e.message}; its {block.count} records are lost")
        if found.fault is None:
            return Piece(first, self._number, data, found.offsets)
        good = len(found.offsets) - 2
        message = f"{self._where(block.at)}: record {good + 1} of the block's {block.count} {found.fault} (byte {found.offsets[good]} of its data)"
        if block.count - good > 1:
            message += f"; it and the {block.count - good - 1} behind it are lost"
        offsets = found.offsets.copy()
        offsets[-1] = min(int(offsets[-1]), int(offsets[-2]) + _KEPT)
        return Piece(first, self._number, data, offsets, message)

    def _unpacked(self, block: Block, packed: bytes, codec: str) -> bytes:
        """The data of a block. Raises ContainerFault."""
        if block.size > self._most:
            raise ContainerFault(f"a block of {block.size} bytes is larger than {self._most} ('avro.block.max-bytes')", block.at)
        if not 0 <= block.count < _MOST_RECORDS:
            raise ContainerFault(f"a block of {block.count} records is claimed", block.at)
        return container.inflate(codec, packed, self._most, block.at)

    def _damage(self, start: int, end: int, fault: ContainerFault) -> Piece:
        """A place that is no block, which counts as one record."""
        self._file.seek(start)
        data = self._file.read(min(end - start, _KEPT))
        first, self._number = self._number, self._number + 1
        return self._piece(first, data, f"{self._where(fault.at)}: {fault.message}; {end - start} bytes are passed over, up to byte {end}")

    def _piece(self, first: int, data: bytes, message: str) -> Piece:
        """One record that is none."""
        return Piece(first, self._number, data, np.array([0, len(data)], np.int32), message)

    def _where(self, at: int) -> str:
        """The place for a message."""
        return f"{container.shown(self.path)} at byte {at}"


def _numbers(block: Block) -> int:
    """How many record numbers a block takes."""
    if 0 < block.count < _MOST_RECORDS:
        return block.count
    return int(block.count != 0 or block.size > 0)
