"""Locks of living and dead processes."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from thalweg.sinks.files.process_lock import ProcessLock

if TYPE_CHECKING:
    from pathlib import Path


def test_living_process_is_not_dead(tmp_path: Path) -> None:
    """A lock that somebody holds is seen and not taken."""
    ours, theirs = ProcessLock(tmp_path), ProcessLock(tmp_path)
    ours.acquire()
    theirs.acquire()

    assert ours.others() == [theirs.token]
    with ours.held_if_dead(theirs.token) as dead:
        assert not dead
    ours.release()
    theirs.release()


def test_released_lock_leaves_nothing(tmp_path: Path) -> None:
    """A process that ends in order removes its file; releasing twice does no harm."""
    lock = ProcessLock(tmp_path)
    lock.acquire()
    lock.release()
    lock.release()

    assert list(tmp_path.iterdir()) == []


def test_killed_process_is_dead(tmp_path: Path) -> None:
    """The system frees the lock of a process that was killed; its file stays until somebody buries it."""
    code = (
        "import os, pathlib, sys; from thalweg.sinks.files.process_lock import ProcessLock\n"
        "l = ProcessLock(pathlib.Path(sys.argv[1])); l.acquire(); print(l.token, flush=True); os.kill(os.getpid(), 9)"
    )
    killed = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False)
    token = killed.stdout.strip()
    lock = ProcessLock(tmp_path)
    lock.acquire()

    assert lock.others() == [token]
    with lock.held_if_dead(token) as dead:
        assert dead
        lock.bury(token)
    assert lock.others() == []
    lock.release()


def test_gone_lock_is_nobodys(tmp_path: Path) -> None:
    """A file that vanished in between is no dead process: somebody else has buried it."""
    with ProcessLock(tmp_path).held_if_dead("1-gone") as dead:
        assert not dead


def test_acquire_survives_a_burial(tmp_path: Path) -> None:
    """A new file that was taken for a dead process's and removed before it was locked is made again."""
    lock = ProcessLock(tmp_path)
    undertaker = ProcessLock(tmp_path)
    path = tmp_path / f"{lock.token}.lock"
    path.touch()
    with undertaker.held_if_dead(lock.token) as dead:
        assert dead
        undertaker.bury(lock.token)
    lock.acquire()

    assert path.exists()
    with undertaker.held_if_dead(lock.token) as dead:
        assert not dead
    lock.release()
