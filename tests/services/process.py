"""Servers as processes of this test run: free ports, start, stop by process id, sharing between test workers."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

CACHE = Path(os.environ.get("THALWEG_TEST_CACHE", Path.home() / ".cache" / "thalweg-tests"))
"""Where jars stay between test runs."""


def required() -> bool:
    """Whether a missing service is a failure rather than a skip."""
    return bool(os.environ.get("CI") or os.environ.get("THALWEG_REQUIRE_SERVICES"))


def missing_tools() -> str | None:
    """Why real servers cannot be started here; None when they can."""
    absent = [tool for tool in ("java", "mvn") if shutil.which(tool) is None]
    return f"real servers need {' and '.join(absent)} on the PATH" if absent else None


def need_tools() -> None:
    """Skip the test with the reason, or fail it where services are required."""
    reason = missing_tools()
    if reason is not None:
        (pytest.fail if required() else pytest.skip)(reason)


def free_ports(count: int) -> list[int]:
    """Loopback ports that nobody listens on, all different."""
    with contextlib.ExitStack() as stack:
        found = []
        for _ in range(count):
            sock = stack.enter_context(socket.socket())
            sock.bind(("127.0.0.1", 0))
            found.append(int(sock.getsockname()[1]))
        return found


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock that other processes respect."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)


def maven(folder: Path, pom: str, goal: str, *settings: str) -> None:
    """Run one Maven goal on a project text; what it fetches is kept in ``folder`` and fetched once."""
    done = folder / ".done"
    with locked(folder.parent / f"{folder.name}.lock"):
        if done.exists():
            return
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "pom.xml").write_text(pom, encoding="utf-8")
        command = ["mvn", "-q", "-B", "-f", str(folder / "pom.xml"), goal, *settings]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        if ran.returncode:
            pytest.fail(f"{' '.join(command)}: {ran.stdout[-2000:]}{ran.stderr[-2000:]}")
        done.touch()


@dataclass
class Server:
    """One server process, and how to start it again."""

    command: Sequence[str]
    folder: Path
    port: int
    env: Mapping[str, str] = field(default_factory=dict)
    pid: int | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    """What else a test may want to know, such as a second port."""

    @property
    def address(self) -> str:
        """``127.0.0.1:port``."""
        return f"127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        """Everything that the server has printed."""
        return self.folder / "server.log"

    def start(self, timeout_s: float = 60) -> None:
        """Start and wait until the port is open."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                self.command, cwd=self.folder, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                env={**os.environ, **self.env}, start_new_session=True,
            )
        self.pid = process.pid
        _watch(process.pid)
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            if process.poll() is not None:
                break
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
                process.returncode = 0  # from here on the process is known by its id only, maybe to another worker
                return
            time.sleep(0.05)
        tail = self.log.read_text(errors="replace")[-2000:]
        self.kill()
        pytest.fail(f"{self.command[0]} does not listen on port {self.port}: {tail}")

    def stop(self, timeout_s: float = 20) -> None:
        """Ask the process to end, and wait for it."""
        self._end(signal.SIGTERM, timeout_s)

    def kill(self) -> None:
        """``kill -9``."""
        self._end(signal.SIGKILL, 10)

    def suspend(self) -> None:
        """Stop the process without ending it; its connections stay open and silent."""
        if self.pid is not None:
            os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on."""
        if self.pid is not None:
            os.kill(self.pid, signal.SIGCONT)

    def _end(self, how: signal.Signals, timeout_s: float) -> None:
        """Send a signal to this process, nobody else, and wait until it is gone."""
        if self.pid is None:
            return
        pid, self.pid = self.pid, None
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, how)
        deadline = time.monotonic() + timeout_s
        while _alive(pid):
            if time.monotonic() > deadline:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                deadline += 10
            time.sleep(0.02)


_WATCH = """
import os, signal, sys, time
run, server = map(int, sys.argv[1:])
def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
while alive(run) and alive(server):
    time.sleep(1)
if not alive(run) and alive(server):
    os.kill(server, signal.SIGKILL)
"""


def _watch(pid: int) -> None:
    """End a server when the test run is gone without having ended it (it was killed); the watcher goes with either."""
    run = os.getppid() if os.environ.get("PYTEST_XDIST_WORKER") else os.getpid()
    watcher = subprocess.Popen([sys.executable, "-I", "-S", "-c", _WATCH, str(run), str(pid)], start_new_session=True, stdin=subprocess.DEVNULL)
    watcher.returncode = 0  # nobody waits for it


def _alive(pid: int) -> bool:
    """Whether a process runs; a child that has ended is reaped."""
    with contextlib.suppress(ChildProcessError):
        if os.waitpid(pid, os.WNOHANG)[0] == pid:
            return False
    stat = Path(f"/proc/{pid}/stat")
    if stat.parent.parent.exists():
        return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@contextlib.contextmanager
def shared(root: Path, name: str, start: Callable[[Path], Server]) -> Iterator[dict[str, Any]]:
    """A server that all test workers of one run use: the first one starts it, the last one stops it.

    Yields what was written down about it: ``address``, ``port``, ``pid``, ``folder``, and its facts.
    """
    state, lock = root / f"{name}.json", root / f"{name}.lock"
    with locked(lock):
        known: dict[str, Any] = json.loads(state.read_text()) if state.exists() else {"users": 0}
        if not known["users"]:
            server = start(root / f"{name}-{os.getpid()}-{time.monotonic_ns()}")
            known = {"users": 0, "address": server.address, "port": server.port, "pid": server.pid, "folder": str(server.folder)}
            known |= server.facts
        known["users"] += 1
        state.write_text(json.dumps(known))
    try:
        yield known
    finally:
        with locked(lock):
            known = json.loads(state.read_text())
            known["users"] -= 1
            state.write_text(json.dumps(known))
            if not known["users"]:
                Server([], Path(known["folder"]), known["port"], pid=known["pid"]).stop()
