"""Publishing to an object store or another pyarrow file system: at least once, whole objects, no log."""

from __future__ import annotations

import os
import re
import secrets
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import fs

from thalweg.errors import SinkBusy, SinkFailed
from thalweg.model.options import redact_url
from thalweg.sinks.files import disk, layout

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from thalweg.model.position import Partition, TopicIdentity
    from thalweg.model.spans import SpanSet
    from thalweg.sinks.files.entries import KeyedSpans
    from thalweg.sinks.files.parts import Closed

_WHOLE_OBJECTS = frozenset({"s3", "gcs", "abfs"})
_PERMANENT = re.compile(r"ACCESS_DENIED|NO_SUCH_BUCKET|INVALID_ACCESS_KEY|SIGNATURE_DOES_NOT_MATCH|NoSuchBucket|Forbidden|PermissionDenied", re.IGNORECASE)


class RemotePublisher:
    """Files are completed in a local folder and written as whole objects, so that nobody sees half of one."""

    def __init__(self, location: str, relation: str) -> None:
        """Nothing is touched before ``open``."""
        self.where = redact_url(location)
        self._location = location
        self._relation = relation
        self._files: Any = None
        self._root = ""
        self._spool: tempfile.TemporaryDirectory[str] | None = None
        self._temps = 0
        self._seq = 0
        self._names: dict[Path, str] = {}
        self._written: set[Path] = set()

    def open(self) -> str | None:
        """Resolve the URL; there is no record, so no schema is known."""
        self._files, self._root = resolve(self._location)
        self._spool = tempfile.TemporaryDirectory(prefix="twg-", ignore_cleanup_errors=True)
        return None

    def close(self) -> None:
        """Delete the local folder."""
        if self._spool is not None:
            self._spool.cleanup()
            self._spool = None

    def temp_path(self) -> Path:
        """Where a new temporary file may be written."""
        assert self._spool is not None
        self._temps += 1
        return Path(self._spool.name) / f"{self._temps}.part"

    def covered(self, partitions: Collection[Partition], identity: Callable[[Partition], TopicIdentity]) -> SpanSet | None:
        """There is no record: the committed offset decides."""
        del partitions, identity
        return None

    def settle(self) -> None:
        """Nobody decides here for anybody else."""

    def publish(self, files: Sequence[Closed], spans: Sequence[KeyedSpans]) -> None:
        """Write the objects; called again after SinkBusy it goes on where it stopped, under the same names."""
        del spans
        if not self._names:
            self._seq += 1
        for file in files:
            if file.path in self._written:
                continue
            name = self._names.setdefault(file.path, layout.file_name(self._relation, self._seq, secrets.token_hex(8)))
            self._write(file, "/".join(p for p in (self._root, file.folder, name) if p))
            self._written.add(file.path)
        self.forget([f.path for f in files])

    def forget(self, paths: Collection[Path]) -> None:
        """Delete local files."""
        for path in paths:
            disk.remove(path)
        self._names.clear()
        self._written.clear()

    def _write(self, file: Closed, final: str) -> None:
        """Write one object whole: one call from mapped memory, so that no error can leave a part of it."""
        try:
            with pa.memory_map(str(file.path)) as content:
                data = content.read_buffer()
                if self._files.type_name in _WHOLE_OBJECTS:
                    _put(self._files, final, data)
                    return
                folder, name = os.path.split(final)
                self._files.create_dir(folder, recursive=True)
                scratch = f"{folder}/_{name}.tmp"
                _put(self._files, scratch, data)
                self._files.move(scratch, final)
        except OSError as e:
            text = redact_url(str(e))
            if isinstance(e, PermissionError) or _PERMANENT.search(text):
                raise SinkFailed(f"cannot write an object: {text}", where=self.where, hint="look at the bucket's name and the credentials") from e
            raise SinkBusy(f"cannot write an object: {text}", where=self.where) from e


def resolve(location: str) -> tuple[Any, str]:
    """The file system and the path of a URL. Raises SinkFailed where pyarrow cannot make one."""
    try:
        files, root = fs.FileSystem.from_uri(location)
    except (OSError, pa.ArrowException, ValueError) as e:
        raise SinkFailed(f"cannot open the file system: {redact_url(str(e))}", where=redact_url(location), hint="look at the URL and the credentials") from e
    return files, root.rstrip("/")


def _put(files: Any, path: str, data: pa.Buffer) -> None:  # noqa: ANN401 - pyarrow has no types
    """Write one object."""
    with files.open_output_stream(path) as stream:
        stream.write(data)
