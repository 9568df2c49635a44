"""The stand-ins themselves."""

from __future__ import annotations

import threading
import uuid
from typing import TYPE_CHECKING

import pytest

from thalweg.model.events import Notice, OffsetsCommitted
from thalweg.sinks.memory.store import STORE
from thalweg.testing.fakes import CrashPoints, DiesBeforeAckSink, FakeClock, Killed, OutOfOrderSink, RecordingObserver, StallingSink
from thalweg.testing.sinks import SinkBench, delivery

if TYPE_CHECKING:
    from pathlib import Path

    from thalweg.ports.sink import Sink


def memory_sink() -> Sink:
    """A sink in memory, opened."""
    location = f"memory://{uuid.uuid4()}"
    return SinkBench("memory", location, lambda: STORE.rows(location)).open()


def test_clock_moves_only_when_told() -> None:
    """Both clocks move together, and sleeping takes no time."""
    clock = FakeClock(now_ns=100)
    clock.advance(5)
    clock.sleep_ns(2)

    assert (clock.now_ns(), clock.monotonic_ns()) == (107, 7)


def test_observer_remembers() -> None:
    """Events can be asked for by class."""
    observer = RecordingObserver()
    observer.on(Notice("info", "a", "b"))

    assert [n.code for n in observer.of(Notice)] == ["a"]
    assert observer.of(OffsetsCommitted) == []


def test_dead_thread_does_nothing_more(tmp_path: Path) -> None:
    """After the crash point not even clean-up code reaches the disk; afterwards everything works again."""
    points = CrashPoints(1)
    with points:
        (tmp_path / "a").mkdir()
        with pytest.raises(Killed):
            (tmp_path / "b").mkdir()
        with pytest.raises(Killed):
            (tmp_path / "a").rename(tmp_path / "c")
    (tmp_path / "b").mkdir()

    assert points.crashed
    assert points.steps == ["mkdir", "mkdir", "rename"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "b"]


def test_one_step_fails_and_life_goes_on(tmp_path: Path) -> None:
    """With an error, only that step fails."""
    with CrashPoints(0, error=OSError(28, "full")):
        with pytest.raises(OSError, match="full"):
            (tmp_path / "a").mkdir()
        (tmp_path / "a").mkdir()

    assert (tmp_path / "a").is_dir()


def test_other_threads_live(tmp_path: Path) -> None:
    """Crash points hold for the thread that set them."""
    with CrashPoints(0) as points:
        other = threading.Thread(target=(tmp_path / "a").mkdir)
        other.start()
        other.join()

    assert points.steps == []
    assert (tmp_path / "a").is_dir()


def test_out_of_order_holds_the_oldest() -> None:
    """Later numbers come first, the oldest last, each once."""
    sink = OutOfOrderSink(memory_sink(), held=2)
    answers = []
    for seq in range(4):
        sink.write(delivery(seq, seq, seq + 1))
        answers.append(list(sink.confirm()))
    sink.flush()
    answers.append(list(sink.confirm()))
    sink.close()

    assert answers == [[], [], [2, 1], [], [3, 0]]


def test_abandon_forgets_what_is_held() -> None:
    """What was not told before is not told after."""
    sink = OutOfOrderSink(memory_sink())
    sink.write(delivery(1, 0, 1))
    sink.confirm()
    sink.abandon()
    sink.flush()

    assert list(sink.confirm()) == []


def test_dies_once() -> None:
    """The delivery is durable, its confirmation never comes, and whoever survives can go on."""
    sink = DiesBeforeAckSink(memory_sink(), seq=2)
    sink.write(delivery(1, 0, 1))
    first = list(sink.confirm())
    sink.write(delivery(2, 1, 2))
    with pytest.raises(Killed):
        sink.confirm()
    sink.write(delivery(3, 2, 3))

    assert (first, list(sink.confirm()), sink.died) == ([1], [3], True)


def test_stalled_sink_blocks_when_full() -> None:
    """Some writes go through, the next one waits, nothing is confirmed until it is released."""
    sink = StallingSink(memory_sink(), depth=2)
    sink.stall()
    for seq in range(2):
        sink.write(delivery(seq, seq, seq + 1))
    blocked = threading.Thread(target=lambda: sink.write(delivery(2, 2, 3)), daemon=True)
    blocked.start()
    blocked.join(0.05)
    stalled = (blocked.is_alive(), list(sink.confirm()))
    sink.release()
    blocked.join(5)
    sink.settle()
    sink.flush()

    assert stalled == (True, [])
    assert list(sink.confirm()) == [0, 1, 2]
