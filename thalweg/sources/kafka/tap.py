"""How records leave the client: as columns where that works, else through ``consume``; both give the same."""

from __future__ import annotations

import functools
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Final

from thalweg import registry
from thalweg.native.compiling import Compiling
from thalweg.native.rdkafka import Unproved
from thalweg.sources.kafka import messages
from thalweg.sources.kafka.columnar import Drain

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from confluent_kafka import Consumer

    from thalweg.model.clock import Clock
    from thalweg.sources.kafka.reader import Key, Taken
    from thalweg.sources.kafka.rooms import Rooms

_WORTH: Final = 10_000
"""Records after which the compiled loops are made ready: a short run never pays for them."""
_EVENTS: Final = 1_024
"""Messages that may come beside callbacks: errors that belong to no partition."""
_LONGEST_S: Final = 0.02
"""Longest wait for records at a stretch; callbacks wait as long."""
_LOOPS: Final = "thalweg.native.messages"
_JIT: Final = "thalweg.kernels.jit:cache_folder"
_CHECK_S: Final = 0.05
_PATIENCE_S: Final = 5.0
"""Longest time that a cache is waited for."""


class Tap:
    """One consumer's way out; used by the thread that owns the consumer."""

    def __init__(
        self, consumer: Consumer, client_id: str, wanted: str, clock: Clock, say: Callable[[str], None], stopping: Callable[[], bool] = lambda: False
    ) -> None:
        """``wanted`` is the option ``reader``; ``say`` hears why it cannot be columns; ``stopping`` tells whether the run ends before its time."""
        self._consumer = consumer
        self._client_id = client_id
        self._clock = clock
        self._say = say
        self._stopping = stopping
        self._rows = 0
        self._open = wanted != "consume"
        """Whether columns may still come."""
        self._drain: Drain | None = None
        if wanted == "columnar":
            loading().wait(stopping)
            self.change()

    @property
    def columnar(self) -> bool:
        """Whether records come as columns."""
        return self._drain is not None

    def begin(self) -> Rooms | None:
        """A new epoch begins; where its payloads are going to lie, None where that is anywhere."""
        return None if self._drain is None else self._drain.begin()

    def take(self, count: int, seconds: float) -> Taken:
        """Up to ``count`` messages, callbacks included; 0 lets the client run its callbacks and takes as little as can be."""
        if self._drain is None:
            if self._open and loading().pauses(seconds):
                count, seconds = 1, 0.0
            taken = messages.sort(self._consumer.consume(max(count, 1), seconds), self._now_us())
            self._rows += sum(block.rows for block in taken.blocks)
            return taken
        taken = messages.sort(self._consumer.consume(_EVENTS, 0.0), self._now_us())
        if count == 0 or taken.faults or taken.blocks:
            return taken
        return self._drain.take(count, min(seconds, _LONGEST_S))

    def change(self) -> bool:
        """Go over to columns if that can be done now; True: it was, and every held partition is to be held and placed anew."""
        if not self._open or (self._rows < _WORTH and not loading().begun):
            return False
        if not loading().start(self._stopping):
            return False
        self._open = False
        try:
            self._drain = Drain(self._consumer, self._client_id, loading().loops(), self._clock)
        except Unproved as e:
            self._say(str(e))
        return self.columnar

    def hold(self, keys: Iterable[Key]) -> None:
        """Partitions come; before they are assigned."""
        if self._drain is not None:
            self._drain.hold(keys)

    def release(self, keys: Collection[Key]) -> None:
        """Partitions go."""
        if self._drain is not None:
            self._drain.release(keys)

    def close(self) -> None:
        """Let go of the client's queues; before the consumer is closed."""
        self._open = False
        if self._drain is not None:
            self._drain.close()

    def _now_us(self) -> int:
        """Time of a poll."""
        return self._clock.now_ns() // 1_000


class Loading:
    """Makes the compiled loops ready beside the run: a child process fills the cache where it is empty."""

    def __init__(self) -> None:
        """Not begun."""
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._settled, self._done = threading.Event(), threading.Event()
        self._deadline = 0.0
        self._stopping: Callable[[], bool] = lambda: False
        self._loops: Any = None
        self._failure: str | None = None

    @property
    def begun(self) -> bool:
        """Whether somebody has asked for the loops already."""
        return self._thread is not None

    def start(self, stopping: Callable[[], bool] = lambda: False) -> bool:
        """Begin if nobody has; whether it is over. ``stopping``: whether the run that asks ends before its time."""
        with self._lock:
            self._stopping = stopping
            if self._thread is None:
                # Not a daemon: the compiler must not run while the interpreter is taken down.
                self._deadline = time.monotonic() + _PATIENCE_S
                self._thread = threading.Thread(target=self._load, name="thalweg-loops")
                self._thread.start()
        return self._done.is_set()

    def pauses(self, seconds: float) -> bool:
        """While loops come from the cache, wait a moment and say so: taking messages one by one would only hold up the loading."""
        if not self.begun or self._settled.is_set() or time.monotonic() > self._deadline:
            return False
        self._settled.wait(min(seconds, _LONGEST_S))
        return True

    def wait(self, stopping: Callable[[], bool] = lambda: False) -> None:
        """Begin, and wait until it is over."""
        self.start(stopping)
        self._done.wait()

    def loops(self) -> Any:  # noqa: ANN401 - a module
        """The module of compiled loops; raises Unproved where it cannot be had."""
        if self._failure is not None:
            raise Unproved(self._failure)
        return self._loops

    def _failing(self) -> bool:
        """Whether the run that has asked last ends before its time."""
        return self._stopping()

    def _load(self) -> None:
        """Import, fill the cache, compile or load."""
        try:
            compile_all, cached = registry.attribute(f"{_LOOPS}:compile_all"), registry.attribute(f"{_LOOPS}:cached")
            if not cached():
                self._settled.set()
                if not _compiled_elsewhere(self._failing):
                    return
            compile_all()
            self._loops = sys.modules[_LOOPS]
        except Exception as e:  # noqa: BLE001 - whatever the compiler trips over, the other reader goes on
            self._failure = f"the copy loops cannot be compiled: {type(e).__name__}: {e}"
        finally:
            self._settled.set()
            self._done.set()


@functools.cache
def loading() -> Loading:
    """The loops of this process: compiled once for all sources."""
    return Loading()


def _compiled_elsewhere(stopping: Callable[[], bool]) -> bool:
    """Let a child process fill the cache; False when this process ends before it is full. A child that fails leaves the work to us.

    Where the run has ended by itself, the child goes on for the next one; else it is ended.
    """
    # Our own interpreter and our own module: nothing in the command comes from outside.
    command, folder = [*registry.interpreter(), "-c", f"from {_LOOPS} import compile_all; compile_all()"], registry.attribute(_JIT)()
    pause, child = threading.Event(), None
    while child is None or child.ended() is None:
        if not threading.main_thread().is_alive():
            if child is not None and stopping():
                child.stop()
            return False
        try:
            child = child or Compiling.begin(command, folder)
        except OSError:
            return True
        pause.wait(_CHECK_S)
    child.stop()
    return True
