"""Makes compiled loops ready beside the run, so that no record waits for a compiler."""

from __future__ import annotations

import functools
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Final

from thalweg import registry
from thalweg.kernels.child import COMPILER, interpreter
from thalweg.native.compiling import Compiling
from thalweg.native.rdkafka import Unproved

if TYPE_CHECKING:
    from collections.abc import Callable

FETCHING: Final = "thalweg.native.batches"
DRAINING: Final = "thalweg.native.messages"
_JIT: Final = "thalweg.kernels.jit:cache_folder"
_KERNELS: Final = "thalweg.kernels.jit:kernels_of"
_FILL: Final = f"{COMPILER}:fill"
_CHECK_S: Final = 0.05
_PAUSE_S: Final = 0.02
_PATIENCE_S: Final = 5.0
"""Longest time that a cache is waited for."""


class Loading:
    """One module of compiled loops; a child process fills the cache where it is empty."""

    def __init__(self, module: str) -> None:
        """Not begun."""
        self._module = module
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
        self._settled.wait(min(seconds, _PAUSE_S))
        return True

    def wait(self, stopping: Callable[[], bool] = lambda: False) -> None:
        """Begin, and wait until it is over, or the run that asks ends before its time."""
        self.start(stopping)
        while not self._done.wait(_CHECK_S) and not stopping():
            pass

    def loops(self) -> Any:  # noqa: ANN401 - a module
        """The module of compiled loops; raises Unproved where it cannot be had."""
        if self._failure is not None:
            raise Unproved(self._failure)
        return self._loops

    def _failing(self) -> bool:
        """Whether the run that has asked last ends before its time."""
        return self._stopping()

    def _load(self) -> None:
        """Import, fill the cache, load."""
        try:
            kernels = _kernels(self._module)
            if not all(kernel.cached() for kernel in kernels):
                self._settled.set()
                if not _compiled_elsewhere(self._module, self._failing):
                    return
            for kernel in kernels:
                kernel.load()
            self._loops = sys.modules[self._module]
        except Exception as e:  # noqa: BLE001 - whatever the compiler trips over, the other reader goes on
            self._failure = f"the copy loops cannot be compiled: {type(e).__name__}: {e}"
        finally:
            self._settled.set()
            self._done.set()


@functools.cache
def loading(module: str) -> Loading:
    """The loops of a module in this process: compiled once for all sources."""
    return Loading(module)


def compile_all() -> None:
    """Compile every loop of this source that is not in the cache."""
    for module in (FETCHING, DRAINING):
        if not all(kernel.cached() for kernel in _kernels(module)):
            registry.attribute(_FILL)([module])


def _kernels(module: str) -> Any:  # noqa: ANN401 - a list of what is not imported before it is wanted
    """The loops of a module, which is imported."""
    registry.attribute(f"{module}:__name__")
    return registry.attribute(_KERNELS)(sys.modules[module])


def _compiled_elsewhere(module: str, stopping: Callable[[], bool]) -> bool:
    """Let a child process fill the cache; False when this process ends before it is full. A child that fails leaves the work to one for each loop.

    Where the run has ended by itself, the child goes on for the next one; else it is ended.
    """
    # Our own interpreter and our own module: nothing in the command comes from outside.
    command, folder = [*interpreter(), "-m", COMPILER, module], registry.attribute(_JIT)()
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
