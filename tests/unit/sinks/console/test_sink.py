"""Printing rows."""

from __future__ import annotations

import io
import subprocess
import sys
from typing import Any

import pytest

from thalweg.errors import PipeClosed, SinkFailed
from thalweg.ports.sink import Target
from thalweg.testing.sinks import SinkBench, delivery, finish


def bench(style: str = "table") -> SinkBench:
    """A console."""
    return SinkBench("console", "console://", list, {"console.format": style})


def test_table(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    """One head for several deliveries, UTF-8 whatever the locale; an epoch without rows prints nothing."""
    sink = bench().open()
    sink.write(delivery(1, 0, 2))
    sink.write(delivery(2, 2, 9, keep=lambda _o: False))
    sink.write(delivery(3, 1, 2))
    assert finish(sink) == [1, 2, 3]
    out = capsysbinary.readouterr().out.decode().splitlines()

    assert out == [
        "partition | offset | name   | tags",
        "----------+--------+--------+----------",
        '        0 |      0 | NULL   | ["a","0"]',
        '        0 |      1 | name 1 | ["a","1"]',
        '        0 |      1 | name 1 | ["a","1"]',
    ]


def test_nothing_is_confirmed_before_the_flush(monkeypatch: pytest.MonkeyPatch) -> None:
    """A write that was buffered only is not durable: confirm flushes first (SNK-03)."""
    seen: list[str] = []

    class Out(io.BytesIO):
        """Notes its flushes."""

        def flush(self) -> None:
            """Note it."""
            seen.append("flush")

    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(Out()))
    sink = bench("jsonl").open()
    sink.write(delivery(1, 0, 2))
    before = list(seen)

    assert list(sink.confirm()) == [1]
    assert "flush" not in before
    assert seen


class Broken(io.RawIOBase):
    """A pipe whose reader is gone, or a full disk."""

    def __init__(self, error: OSError) -> None:
        """``error`` is raised by every write."""
        super().__init__()
        self.error = error

    def writable(self) -> bool:
        """It pretends."""
        return True

    def write(self, _data: Any) -> int:  # noqa: ANN401 - a buffer
        """Fail."""
        raise self.error


class Stdout:
    """Standard output over a broken pipe, unbuffered."""

    def __init__(self, error: OSError) -> None:
        """No descriptor behind it."""
        self.buffer = Broken(error)

    def fileno(self) -> int:
        """There is none."""
        raise OSError("no descriptor")


def test_closed_pipe_confirms_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader went away: an error of its own kind, and what was not printed is never confirmed."""
    monkeypatch.setattr(sys, "stdout", Stdout(BrokenPipeError()))
    sink = bench().open()
    with pytest.raises(PipeClosed, match="the reader of standard output went away"):
        sink.write(delivery(1, 0, 2))

    assert list(sink.confirm()) == []


def test_other_errors_are_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard output on a full disk is no closed pipe."""
    monkeypatch.setattr(sys, "stdout", Stdout(OSError(28, "No space left on device")))
    sink = bench().open()
    with pytest.raises(SinkFailed, match="cannot print: No space left on device") as caught:
        sink.write(delivery(1, 0, 2))

    assert not isinstance(caught.value, PipeClosed)


def test_output_without_bytes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A replaced standard output that takes text only is said so at once."""
    monkeypatch.setattr(sys, "stdout", io.StringIO())

    with pytest.raises(SinkFailed, match="takes no bytes"):
        bench().open()


def test_a_real_pipe_that_closes_ends_silently() -> None:
    """``twg ... | head -1``: the process ends without a traceback or a second complaint at exit (CL-02)."""
    code = (
        "from thalweg.testing.sinks import SinkBench, delivery\n"
        "from thalweg.errors import PipeClosed\n"
        "s = SinkBench('console', 'console://', list, {'console.format': 'jsonl'}).open()\n"
        "try:\n"
        "    for n in range(10**6):\n"
        "        s.write(delivery(n, n, n + 100)); s.confirm()\n"
        "except PipeClosed:\n"
        "    raise SystemExit(7)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stderr is not None
    first = child.stdout.readline()
    child.stdout.close()
    complaints = child.stderr.read()
    child.stderr.close()

    assert child.wait(timeout=60) == 7
    assert first.startswith(b'{"partition":0,"offset":0,')
    assert complaints == b""


def test_location_has_nothing_to_say() -> None:
    """A path behind the scheme is a mistake."""
    plugin = bench().plugin

    assert plugin.check(Target("console://", None, None)) == []
    assert plugin.check(Target("console://x/y", None, None)) == ["a console has no place: write 'console://', not 'console://x/y'"]
