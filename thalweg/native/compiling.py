"""A child process that fills the cache of kernels: one at a time for each cache folder, whichever process asks for it."""

from __future__ import annotations

import fcntl
import os
import subprocess
import tempfile
from contextlib import ExitStack
from typing import IO, TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_LOCK: Final = "compiling.lock"
_NICE: Final = 10
_TAIL: Final = 4_096


class Compiling:
    """A compiler at work, in a session of its own: no signal of a terminal reaches it, and it holds no pipe of ours."""

    def __init__(self, process: subprocess.Popen[bytes], said: IO[bytes]) -> None:
        """``said`` is a file without a name that takes the errors."""
        self._process, self._said = process, said

    @classmethod
    def begin(cls, command: Sequence[str], folder: Path) -> Self | None:
        """Start ``command`` at low priority; None while another process compiles into ``folder``. Raises OSError where nothing can be written there."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (folder / _LOCK).open("ab") as lock, ExitStack() as undo:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return None
            # The child holds the lock from here on: it is free when the child has ended, however that happens.
            said = undo.enter_context(tempfile.TemporaryFile())
            process = subprocess.Popen(  # noqa: S603 - the caller's own interpreter and module
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said, pass_fds=(lock.fileno(),), start_new_session=True
            )
            undo.pop_all()
        os.setpriority(os.PRIO_PROCESS, process.pid, _NICE)
        return cls(process, said)

    @property
    def pid(self) -> int:
        """Number of the process."""
        return self._process.pid

    def ended(self) -> str | None:
        """None while it runs; then what went wrong, empty where nothing did."""
        code = self._process.poll()
        if code is None:
            return None
        if self._said.closed:
            return f"the compiler was ended ({code})"
        return (self._last_line() or f"the compiler ended with {code}") if code else ""

    def stop(self) -> None:
        """End it, whatever it has done so far."""
        if self._process.poll() is None:
            self._process.terminate()
        self._process.wait()
        self._said.close()

    def let_go(self) -> None:
        """It goes on, also when this process has ended. Returns at its end, so that it leaves no zombie: for a thread that nobody waits for."""
        self._said.close()
        self._process.wait()

    def _last_line(self) -> str:
        """The last line that it said: of an exception, what it was."""
        self._said.seek(max(0, self._said.seek(0, os.SEEK_END) - _TAIL))
        lines = self._said.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""
