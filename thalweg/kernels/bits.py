"""What processors have an instruction for and NumPy has not: zeros at the ends of a word, the high half of a product, bits that lie apart.

These are the twins in Python; the instructions are in ``kernels/intrinsics.py``.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from thalweg.kernels.jit import instruction

Int: TypeAlias = Any
"""A machine word: int64 inside kernels, int where a kernel is tried in Python."""
_WORD = 64


@instruction("ctz")
def ctz(word: np.uint64) -> Int:
    """Zero bits below the lowest set bit; 64 for 0. ``uint64 -> int64``."""
    value = int(word)
    return np.int64((value & -value).bit_length() - 1 if value else _WORD)


@instruction("clz")
def clz(word: np.uint64) -> Int:
    """Zero bits above the highest set bit; 64 for 0. ``uint64 -> int64``."""
    return np.int64(_WORD - int(word).bit_length())


@instruction("mulhi")
def mulhi(x: np.uint64, y: np.uint64) -> np.uint64:
    """The high 64 bits of the product of two words. ``uint64, uint64 -> uint64``."""
    return np.uint64(int(x) * int(y) >> _WORD)


@instruction("sevens")
def sevens(word: np.uint64) -> np.uint64:
    """The lower seven bits of each byte, end to end: the value of a varint. ``uint64 -> uint64``."""
    value = int(word)
    return np.uint64(sum((value >> (8 * i) & 127) << (7 * i) for i in range(_WORD // 8)))
