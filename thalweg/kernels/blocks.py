"""Memory that is used again: a fresh page costs more than what is written into it."""

from __future__ import annotations

import functools
import threading
import weakref
from collections import deque
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from thalweg.kernels.memory import Bytes

_SMALLEST: Final = 1 << 18
"""Blocks below this many bytes are left to the C library."""
_STEP: Final = 1 << 20
"""Larger blocks are multiples of this, so that one fits where another was."""
_KEPT: Final = 48 << 20
"""Bytes that may lie idle in all."""


class Blocks:
    """Blocks that come back when the last array or buffer over them is gone; any thread may take one, and may be the last to let go."""

    def __init__(self, kept: int = _KEPT) -> None:
        """At most ``kept`` bytes lie idle."""
        self._kept = kept
        self._idle: list[Bytes] = []
        self._back: deque[Bytes] = deque()
        """What came back since the last call. The collector may let go of a block at any moment, on any thread: it does no more than append here."""
        self._lock = threading.Lock()

    def take(self, nbytes: int) -> Bytes:
        """uint8[nbytes] with any content."""
        with self._lock:
            self._gather()
            owner = self._fitting(nbytes) if nbytes >= _SMALLEST else None
        if nbytes < _SMALLEST:
            return np.empty(nbytes, np.uint8)
        if owner is None:
            owner = np.empty(-(-nbytes // _STEP) * _STEP, np.uint8)
        # An array over a memoryview is where NumPy ends the chain of bases: it lives as long as any view of it.
        block: Bytes = np.frombuffer(owner.data, np.uint8, nbytes)
        weakref.finalize(block, self._back.append, owner).atexit = False
        return block

    def idle_bytes(self) -> int:
        """Bytes that nobody uses."""
        with self._lock:
            self._gather()
            return sum(owner.nbytes for owner in self._idle)

    def _fitting(self, nbytes: int) -> Bytes | None:
        """The smallest idle block that is large enough, but not one twice as large as need be. Called with the lock held."""
        fitting = [(owner.nbytes, i) for i, owner in enumerate(self._idle) if nbytes <= owner.nbytes <= 2 * nbytes + _STEP]
        return self._idle.pop(min(fitting)[1]) if fitting else None

    def _gather(self) -> None:
        """Keep what came back for the next who needs it; the oldest go where that is too much. Called with the lock held."""
        while self._back:
            self._idle.append(self._back.popleft())
        while sum(block.nbytes for block in self._idle) > self._kept:
            self._idle.pop(0)


@functools.cache
def blocks() -> Blocks:
    """Those of this process."""
    return Blocks()
