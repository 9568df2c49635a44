"""Small durable steps on a local file system."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from thalweg.errors import SinkFailed

if TYPE_CHECKING:
    from pathlib import Path

_HINTS = {
    errno.ENOSPC: "free some space and start again: nothing that was confirmed is lost",
    errno.EDQUOT: "the quota is used up: free some space and start again, nothing that was confirmed is lost",
    errno.EACCES: "give the user that runs this process the right to write there",
    errno.EPERM: "give the user that runs this process the right to write there",
    errno.EROFS: "the file system is mounted read-only",
    errno.ENOTDIR: "a part of the path is a file; name a folder",
    errno.ENOENT: "a folder is missing; if it was removed while the pipeline ran, the next start goes on behind what was committed, or over with --rewrite",
    errno.EEXIST: "a file is where a folder should be; name a folder",
    errno.EMFILE: "raise the limit of open files (ulimit -n) or lower 'partition.max-open'",
}


def failed(what: str, path: Path | str, error: OSError) -> SinkFailed:
    """The error that the user sees: what, where, the system's own words, what to do."""
    text = os.strerror(error.errno) if error.errno else str(error)
    return SinkFailed(f"cannot {what}: {text}", where=str(path), hint=_HINTS.get(error.errno or 0))


def sync_file(path: Path) -> None:
    """Force a closed file to disk."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def sync_folder(path: Path) -> None:
    """Force the names in a folder to disk."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def make_folder(path: Path) -> None:
    """Make a folder and its parents, each of them durable."""
    missing = []
    while not path.is_dir():
        missing.append(path)
        path = path.parent
    for folder in reversed(missing):
        try:
            folder.mkdir()
        except FileExistsError:
            if not folder.is_dir():
                raise
        sync_folder(folder.parent)


def create_once(path: Path, content: bytes, scratch: Path) -> None:
    """Create ``path`` with this content, whole and durable or not at all. Raises FileExistsError where it is taken."""
    fd = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    try:
        try:
            view = memoryview(content)
            while view:
                view = view[os.write(fd, view):]
            os.fsync(fd)
        finally:
            os.close(fd)
        os.link(scratch, path)
    finally:
        scratch.unlink()
    sync_folder(path.parent)


def remove(path: Path) -> bool:
    """Remove a file; False where there is none."""
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    return True
