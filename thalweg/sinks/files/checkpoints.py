"""Checkpoints of the publish log: one file that stands for all entries up to a number."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING

from thalweg.errors import SinkFailed
from thalweg.sinks.files import disk
from thalweg.sinks.files.entries import Entry

if TYPE_CHECKING:
    from pathlib import Path

    from thalweg.model.clock import Clock

KEEP_NS = 7 * 86_400 * 1_000_000_000
"""Entries stay this long after the checkpoint that replaces them: a sleeping process must not create a deleted number again."""
_NAME = re.compile(r"(\d{12,})\.json")


class Checkpoints:
    """The checkpoints of one log, in a folder of their own so that looking for a new one stays cheap."""

    def __init__(self, log_folder: Path, clock: Clock) -> None:
        """Nothing is touched yet."""
        self._log_folder = log_folder
        self._clock = clock
        self.folder = log_folder / "checkpoints"

    def newest(self) -> int:
        """Number that the newest checkpoint reaches to; 0 where there is none."""
        return max(numbers(self.folder), default=0)

    def read(self, seq: int) -> Entry:
        """The checkpoint with this number."""
        path = self._path(seq)
        return parse(path, path.read_bytes())

    def write(self, seq: int, entry: Entry, scratch: Path) -> None:
        """Create a checkpoint; another process may have been faster with the same one."""
        with contextlib.suppress(FileExistsError):
            disk.create_once(self._path(seq), entry.to_json(), scratch)

    def prune(self) -> int:
        """Delete entries and checkpoints that an old enough checkpoint replaces; returns how many."""
        horizon = self._clock.now_ns() - KEEP_NS
        old = [seq for seq in numbers(self.folder) if self.read(seq).created_ns <= horizon]
        if not old:
            return 0
        upto = max(old)
        gone = [self._log_folder / f"{seq:012d}.json" for seq in numbers(self._log_folder) if seq <= upto]
        gone += [self._path(seq) for seq in old if seq < upto]
        return sum(disk.remove(path) for path in gone)

    def _path(self, seq: int) -> Path:
        """File of a checkpoint."""
        return self.folder / f"{seq:012d}.json"


def numbers(folder: Path) -> list[int]:
    """Numbers of the entries or checkpoints in a folder, ascending."""
    return sorted(int(m[1]) for m in (_NAME.fullmatch(path.name) for path in folder.iterdir()) if m)


def parse(path: Path, content: bytes) -> Entry:
    """Read an entry; a damaged one stops everything, since nobody can know what it published."""
    try:
        return Entry.from_json(content)
    except ValueError as e:
        raise SinkFailed(
            f"the entry cannot be read: {e}", where=str(path), hint="restore it from a backup, or start over with --rewrite"
        ) from e
