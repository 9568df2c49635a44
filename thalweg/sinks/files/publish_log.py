"""The publish log: creating an entry is the commit, renames are rolled forward by whoever comes next (docs/decisions/publish-log.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from thalweg.errors import SinkFailed, SpanTaken
from thalweg.model.position import Partition, Span
from thalweg.model.spans import SpanSet
from thalweg.sinks.files import disk, layout
from thalweg.sinks.files.checkpoints import Checkpoints, parse
from thalweg.sinks.files.entries import Entry, FileEntry, KeyedSpans, PartitionKey
from thalweg.sinks.files.process_lock import ProcessLock

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from thalweg.model.clock import Clock

FOLD_EVERY = 1000
"""Entries between two checkpoints."""


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose log it is; every entry carries it."""

    pipeline: str
    relation: str
    prefix: str
    schema: str
    version: str


class PublishLog:
    """One relation's record in a target folder, shared by every process that writes the relation."""

    def __init__(self, target: Path, owner: Owner, clock: Clock, *, fold_every: int = FOLD_EVERY) -> None:
        """Nothing is touched before ``open``."""
        self._target = target
        self._owner = owner
        self._clock = clock
        self._fold_every = fold_every
        self.folder = target / layout.LOG_FOLDER / layout.folder_name(owner.pipeline) / layout.folder_name(owner.relation)
        self.temp_folder = self.folder / "tmp"
        self._lock_folder = self.folder / "locks"
        self._checkpoints = Checkpoints(self.folder, clock)
        self._lock = ProcessLock(self._lock_folder)
        self._spans = SpanSet()
        self._last = 0
        self._folded = 0
        self._unfinished: list[FileEntry] = []
        self._keys: dict[Partition, PartitionKey] = {}
        self._touched: set[Path] = set()
        self._number = 0
        self.last_schema: str | None = None
        """Fingerprint in the newest entry that was read; None for an empty log."""

    def open(self) -> None:
        """Make the folders, take the process's lock, read what is there, finish and clean up what dead processes left."""
        for folder in (self._target, self.folder, self.temp_folder, self._lock_folder, self._checkpoints.folder):
            disk.make_folder(folder)
        self._lock.acquire()
        self._probe()
        self.refresh()
        self.clean()

    def close(self) -> None:
        """Let the process's lock go."""
        self._lock.release()

    def temp_name(self, suffix: str = ".part") -> str:
        """A fresh name for a temporary file of this process; it lies in ``temp_folder``."""
        self._number += 1
        return f"{self._lock.token}.{self._number}{suffix}"

    def refresh(self) -> None:
        """Read the entries that came since the last look and roll their renames forward."""
        self._read_new()
        self._finish()

    def covered(self, key: PartitionKey) -> list[tuple[int, int]]:
        """Published ranges of one partition, as of the last ``refresh``."""
        return self._spans.ranges(key.partition)

    def publish(self, spans: Sequence[KeyedSpans], name_files: Callable[[int], tuple[FileEntry, ...]]) -> int:
        """Create the entry of closed and synced temporary files and show them; returns its number.

        ``name_files(seq)`` gives the files their final names. Raises SpanTaken, with nothing published, where another process has any of
        the spans; an OSError leaves open whether the entry exists: ``refresh`` tells.
        """
        self._number += 1
        number = self._number
        while True:
            self.refresh()
            self._refuse_taken(spans)
            seq = self._last + 1
            entry = self._entry(number, tuple(spans), name_files(seq))
            scratch = self.temp_folder / self.temp_name(".entry")
            try:
                disk.create_once(self._path(seq), entry.to_json(), scratch)
            except FileExistsError:
                if not self._is_own(seq, number):
                    continue
            self.refresh()
            return seq

    def fold(self) -> None:
        """Now and then write a checkpoint, and let go of entries that one has replaced for long enough."""
        if self._last - self._folded < self._fold_every:
            return
        for folder in self._touched:
            if folder.is_dir():
                disk.sync_folder(folder)  # renames made by others may not be on disk yet
        spans = tuple(KeyedSpans(self._keys[p], tuple(self._spans.ranges(p))) for p in self._spans.partitions())
        scratch = self.temp_folder / self.temp_name(".entry")
        self._checkpoints.write(self._last, self._entry(0, spans, ()), scratch)
        self._folded = self._last
        self._touched.clear()
        self._checkpoints.prune()

    def clean(self) -> None:
        """Delete the temporary files of processes that are gone; entries that name any were rolled forward first."""
        for token in self._lock.others():
            with self._lock.held_if_dead(token) as dead:
                if not dead:
                    continue
                self.refresh()  # after the lock: the dead write no entry any more
                for path in list(self.temp_folder.iterdir()):
                    if path.name.startswith(f"{token}."):
                        disk.remove(path)
                self._lock.bury(token)

    def _path(self, seq: int) -> Path:
        """File of an entry."""
        return self.folder / f"{seq:012d}.json"

    def _entry(self, number: int, spans: tuple[KeyedSpans, ...], files: tuple[FileEntry, ...]) -> Entry:
        """An entry of this process."""
        o = self._owner
        return Entry(
            o.pipeline, o.relation, o.prefix, o.schema, o.version, self._lock.token, number, self._clock.now_ns(), spans, files
        )

    def _probe(self) -> None:
        """Refuse a file system without hard links: an entry could be seen half written."""
        scratch, linked = self.temp_folder / self.temp_name(".probe"), self.temp_folder / self.temp_name(".probe")
        try:
            disk.create_once(linked, b"", scratch)
        except OSError as e:
            raise disk.failed("make a hard link, which the publish log needs", self.temp_folder, e) from e
        disk.remove(linked)

    def _read_new(self) -> None:
        """Absorb the entries after the last one known; numbers have no gaps behind the newest checkpoint."""
        at = self._checkpoints.newest()
        if at > self._last:
            self._absorb(at, self._checkpoints.read(at))
            self._folded = at
            self._touched.clear()
        while True:
            path = self._path(self._last + 1)
            try:
                content = path.read_bytes()
            except FileNotFoundError:
                return
            self._absorb(self._last + 1, parse(path, content))

    def _absorb(self, seq: int, entry: Entry) -> None:
        """Take over what an entry says."""
        self._refuse_foreign(seq, entry)
        for spans in entry.spans:
            self._keys[spans.key.partition] = spans.key
            for lo, hi in spans.ranges:
                self._spans.add(Span(spans.key.partition, lo, hi))
        self._unfinished += entry.files
        self._touched.update((self._target / f.final).parent for f in entry.files)
        self.last_schema = entry.schema
        self._last = seq

    def _refuse_foreign(self, seq: int, entry: Entry) -> None:
        """The log must be ours, and the metadata prefix is for good."""
        o = self._owner
        if (entry.pipeline, entry.relation) != (o.pipeline, o.relation):
            raise SinkFailed(
                f"the publish log belongs to relation {entry.relation!r} of pipeline {entry.pipeline!r}", where=str(self._path(seq)),
                hint=f"{o.relation!r} of {o.pipeline!r} needs another folder",
            )
        if entry.prefix != o.prefix:
            raise SinkFailed(
                f"the target was written with the metadata prefix {entry.prefix!r}, this pipeline has {o.prefix!r}: a prefix is for good "
                "once a target exists", where=str(self.folder), hint="set the old prefix, name another folder, or start with --rewrite",
            )

    def _refuse_taken(self, spans: Sequence[KeyedSpans]) -> None:
        """Every entry is disjoint from all before it."""
        for one in spans:
            for lo, hi in one.ranges:
                if self._spans.overlaps(Span(one.key.partition, lo, hi)):
                    raise SpanTaken(
                        f"offsets {lo} to {hi} of {one.key.topic}[{one.key.index}] were published by another process", where=str(self.folder)
                    )

    def _is_own(self, seq: int, number: int) -> bool:
        """Whether an entry that exists already is the one just created (a network file system may repeat a call)."""
        path = self._path(seq)
        entry = parse(path, path.read_bytes())
        return (entry.writer, entry.number) == (self._lock.token, number)

    def _finish(self) -> None:
        """Rename what entries name and nobody has renamed yet."""
        pending = [f for f in self._unfinished if (self.temp_folder / f.temp).exists()]
        if pending:
            disk.sync_folder(self.folder)  # an entry must not be forgotten by a power cut after its files were shown
            for file in pending:
                self._rename(file)
            for folder in {(self._target / f.final).parent for f in pending}:
                disk.sync_folder(folder)
            disk.sync_folder(self.temp_folder)
        self._unfinished.clear()

    def _rename(self, file: FileEntry) -> None:
        """Show one file; somebody else may be doing the same."""
        final = self._target / file.final
        disk.make_folder(final.parent)
        try:
            (self.temp_folder / file.temp).rename(final)
        except FileNotFoundError:
            if not final.parent.is_dir():
                raise

