"""``--rewrite``: take one relation of one pipeline out of a target."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from thalweg.errors import SinkFailed
from thalweg.sinks.files import disk, layout
from thalweg.sinks.files.process_lock import ProcessLock
from thalweg.sinks.files.remote import resolve

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from thalweg.ports.sink import SinkContext, Target


def rewrite_plan(target: Target, context: SinkContext) -> list[str]:
    """Files of this relation, told by their names and footers, and its publish log."""
    files, root, log = _places(target, context)
    found = list(_own_files(files, root, context))
    if log is not None and log.is_dir():
        found.append(str(log))
    return found


def rewrite(target: Target, context: SinkContext) -> list[str]:
    """Remove what ``rewrite_plan`` says. Raises SinkFailed while another process writes there."""
    files, root, log = _places(target, context)
    if log is not None and (log / "locks").is_dir():
        _refuse_living(log)
    removed = []
    try:
        for path in _own_files(files, root, context):
            files.delete_file(path)
            removed.append(path)
        if log is not None and log.is_dir():
            shutil.rmtree(log)
            removed.append(str(log))
    except OSError as e:
        raise disk.failed("remove files", target.location, e) from e
    return removed


def _places(target: Target, context: SinkContext) -> tuple[Any, str, Path | None]:
    """File system, folder, and the log's folder where there can be one."""
    if not layout.is_local(target.location):
        return (*resolve(target.location), None)
    root = layout.local_path(target.location)
    log = root / layout.LOG_FOLDER / layout.folder_name(context.pipeline) / layout.folder_name(context.relation)
    return fs.LocalFileSystem(), str(root), log


def _own_files(files: Any, root: str, context: SinkContext) -> Iterator[str]:  # noqa: ANN401 - pyarrow has no types
    """Files whose footers say that this relation of this pipeline wrote them."""
    pattern = layout.file_pattern(context.relation)
    wanted = {b"twg.pipeline": context.pipeline.encode(), b"twg.relation": context.relation.encode()}
    for info in files.get_file_info(fs.FileSelector(root, recursive=True, allow_not_found=True)):
        if info.type == fs.FileType.File and pattern.fullmatch(info.base_name):
            footer = _footer(files, info.path)
            if all(footer.get(k) == v for k, v in wanted.items()):
                yield info.path


def _footer(files: Any, path: str) -> dict[bytes, bytes]:  # noqa: ANN401 - pyarrow has no types
    """Key-value metadata of a file; one that cannot be read is not ours to remove."""
    try:
        return dict(pq.read_metadata(path, filesystem=files).metadata or {})
    except pa.ArrowException:
        return {}


def _refuse_living(log: Path) -> None:
    """A process that writes there now would publish into a log that is gone."""
    lock = ProcessLock(log / "locks")
    for token in lock.others():
        with lock.held_if_dead(token) as dead:
            if not dead:
                raise SinkFailed("another process writes this relation", where=str(log), hint=f"stop process {token.split('-')[0]} first")
