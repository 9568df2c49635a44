"""Publishing to a local file system: exactly once, by the publish log."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from thalweg.model.position import Span
from thalweg.model.spans import SpanSet
from thalweg.sinks.files import disk, layout
from thalweg.sinks.files.entries import FileEntry, PartitionKey
from thalweg.sinks.files.publish_log import Owner, PublishLog

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path

    from thalweg.model.clock import Clock
    from thalweg.model.position import Partition, TopicIdentity
    from thalweg.sinks.files.entries import KeyedSpans
    from thalweg.sinks.files.parts import Closed


class LocalPublisher:
    """Temporary files, entry, rename."""

    def __init__(self, target: Path, owner: Owner, clock: Clock) -> None:
        """Nothing is touched before ``open``."""
        self.where = str(target)
        self._relation = owner.relation
        self._log = PublishLog(target, owner, clock)

    def open(self) -> str | None:
        """Take the target; returns the fingerprint of the schema that was written last."""
        self._log.open()
        return self._log.last_schema

    def close(self) -> None:
        """Let the target go."""
        self._log.close()

    def temp_path(self) -> Path:
        """Where a new temporary file may be written."""
        return self._log.temp_folder / self._log.temp_name()

    def covered(self, partitions: Collection[Partition], identity: Callable[[Partition], TopicIdentity]) -> SpanSet:
        """What the log has of these partitions; dead processes' work is finished and their leavings are deleted."""
        self._log.refresh()
        self._log.clean()
        out = SpanSet()
        for partition in partitions:
            for lo, hi in self._log.covered(PartitionKey.of(partition, identity(partition))):
                out.add(Span(partition, lo, hi))
        return out

    def settle(self) -> None:
        """Finish what others decided; fold the log when it has grown."""
        self._log.refresh()
        self._log.fold()

    def publish(self, files: Sequence[Closed], spans: Sequence[KeyedSpans]) -> None:
        """Commit files and spans; returns when the files are visible."""
        if files:
            disk.sync_folder(self._log.temp_folder)

        def name_files(seq: int) -> tuple[FileEntry, ...]:
            return tuple(FileEntry(f.path.name, self._final(f, seq), f.rows, f.nbytes) for f in files)

        self._log.publish(spans, name_files)

    def forget(self, paths: Collection[Path]) -> None:
        """Delete temporary files that were given up, but for those that an entry names after all."""
        self._log.refresh()
        for path in paths:
            disk.remove(path)

    def _final(self, file: Closed, seq: int) -> str:
        """Path of a file below the target."""
        name = layout.file_name(self._relation, seq, secrets.token_hex(8))
        return f"{file.folder}/{name}" if file.folder else name
