"""Tables of powers that number texts are read and written with; made once, in exact arithmetic."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

TENS = np.array([10**i for i in range(20)], np.uint64)
"""Powers of ten that fit a word."""
FLOAT_TENS = np.array([10.0**i for i in range(23)])
"""Powers of ten that a double holds exactly."""
LOWEST, HIGHEST = -342, 308
"""Decimal exponents beyond which a number of 19 digits is zero or no finite double."""
WRITE_LOWEST, WRITE_HIGHEST = -324, 292
"""Decimal exponents of the last digit of a double's shortest text."""
_WORD = 64


@functools.cache
def fives() -> npt.NDArray[Any]:
    """uint64[2 * 651]: the highest 128 bits of 5 ** q for q from LOWEST to HIGHEST, rounded up where q is negative."""
    out = []
    for q in range(LOWEST, HIGHEST + 1):
        if q < 0:
            power = 5**-q
            bits = (power - 1).bit_length()
            value = (2 ** (bits + 127) if q >= -27 else 2 ** (2 * bits + 128)) // power + 1  # noqa: PLR2004 - 5 ** 27 fits a word
            value >>= max(value.bit_length() - 2 * _WORD, 0)
        else:
            value = 5**q
            value = value << 2 * _WORD >> value.bit_length()
        out += [value >> _WORD, value & (1 << _WORD) - 1]
    return _frozen(out)


@functools.cache
def reciprocals() -> npt.NDArray[Any]:
    """uint64[2 * 617]: 10 ** -k in 126 bits, rounded up, in halves of 63, for k from WRITE_LOWEST to WRITE_HIGHEST."""
    out = []
    for k in range(WRITE_LOWEST, WRITE_HIGHEST + 1):
        shift = 125 - (-k * 913_124_641_741 >> 38)
        value = (10**-k << shift if shift >= 0 else 10**-k >> -shift) if k <= 0 else (1 << shift) // 10**k
        out += [value + 1 >> 63, value + 1 & (1 << 63) - 1]
    return _frozen(out)


def _frozen(words: list[int]) -> npt.NDArray[Any]:
    """Words that nobody can change."""
    table = np.array(words, np.uint64)
    table.flags.writeable = False
    return table
