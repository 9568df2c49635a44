"""A lock file for each process: temporary files are cleaned up only when the process that made them is gone."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import weakref
from typing import TYPE_CHECKING

from thalweg.sinks.files import disk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_SUFFIX = ".lock"


class ProcessLock:
    """Held from ``acquire`` until ``release`` or the end of the process, whichever way that comes."""

    def __init__(self, folder: Path) -> None:
        """``folder`` holds the lock files of one relation's log; nothing is made yet."""
        self._folder = folder
        self.token = f"{os.getpid()}-{secrets.token_hex(8)}"
        self._close: weakref.finalize[[int], ProcessLock] | None = None

    def acquire(self) -> None:
        """Make and lock this process's file; again if somebody took it for a dead process's in between."""
        path = self._path(self.token)
        while True:
            fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
            fcntl.flock(fd, fcntl.LOCK_EX)
            if _is_at(fd, path):
                self._close = weakref.finalize(self, os.close, fd)
                return
            os.close(fd)

    def release(self) -> None:
        """Give the lock up and remove its file."""
        if self._close is not None and self._close.alive:
            disk.remove(self._path(self.token))
            self._close()

    def others(self) -> list[str]:
        """Tokens of the other lock files, of living and of dead processes."""
        names = [path.name for path in self._folder.iterdir()]
        return sorted(n.removesuffix(_SUFFIX) for n in names if n.endswith(_SUFFIX) and n != self.token + _SUFFIX)

    @contextlib.contextmanager
    def held_if_dead(self, token: str) -> Iterator[bool]:
        """Whether the process of this token is gone; its file stays locked inside and is removed by ``bury``."""
        try:
            fd = os.open(self._path(token), os.O_RDWR)
        except FileNotFoundError:
            yield False
            return
        try:
            yield _try_lock(fd)
        finally:
            os.close(fd)

    def bury(self, token: str) -> None:
        """Remove a dead process's lock file; inside ``held_if_dead``, after its temporary files."""
        disk.remove(self._path(token))

    def _path(self, token: str) -> Path:
        """The lock file of a process."""
        return self._folder / f"{token}{_SUFFIX}"


def _is_at(fd: int, path: Path) -> bool:
    """Whether the locked file is still the one under its name."""
    try:
        there = path.stat()
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(fd), there)


def _try_lock(fd: int) -> bool:
    """Lock without waiting."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
