"""What those who manage memory are told before the libraries are loaded: keep free pages for an epoch, no huge pages, look for cycles seldom."""

from __future__ import annotations

import ctypes
import gc
import os
from typing import Final

_MIMALLOC: Final = {"MIMALLOC_ALLOW_THP": "0", "MIMALLOC_PURGE_DELAY": "100"}
"""Arrow and DataFusion each bring mimalloc, which reads these when it is loaded. Huge pages are zeroed whole and counted whole. Free pages stay for
as many milliseconds, about one epoch: given back at once they are faulted in again by the next, which took a quarter of the worker's time."""
_THRESHOLD: Final = "MALLOC_MMAP_THRESHOLD_"
_M_MMAP_THRESHOLD: Final = -3
_LARGE: Final = 4 << 20
"""Blocks of this many bytes are given back as soon as they are free; by itself the C library learns to keep ever larger ones."""
_CYCLES: Final = (50_000, 20, 50)
"""New containers after which the collector looks at the youngest. Loading Numba makes a million that stay; an epoch makes some hundreds."""


def settle() -> None:
    """Called once by a command that moves records, on the main thread, before pyarrow and DataFusion are imported.

    What the environment says already stays. Where the C library has no ``mallopt`` it is left alone. Measured in docs/performance.md.
    """
    for name, value in _MIMALLOC.items():
        os.environ.setdefault(name, value)
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None and _THRESHOLD not in os.environ:
        mallopt(_M_MMAP_THRESHOLD, _LARGE)
    gc.set_threshold(*_CYCLES)
