# ruff: noqa: PLR2004, C901, PLR0911, PLR0912 - the numbers are bytes; a scanner returns what it meets
"""Values that nobody wants: passed over, and checked as exactly as those that are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thalweg.kernels.jit import apart, inline
from thalweg.kernels.json_ops import SKIP_DEPTH
from thalweg.kernels.json_text import QUOTE, blank, skip_string
from thalweg.kernels.memory import U, ld32
from thalweg.kernels.number import skip_number
from thalweg.kernels.program import MALFORMED, SLOW

if TYPE_CHECKING:
    from thalweg.kernels.memory import Bytes, Int

TRUE, ALSE, NULL = U(0x65757274), U(0x65736C61), U(0x6C6C756E)
"""``true``, ``false`` without its first letter, ``null``."""


@inline
def skip_word(src: Bytes, p: Int, c: Int) -> Int:
    """The position after the number, ``true``, ``false`` or ``null`` whose first byte ``c`` is at ``p``, or -code."""
    if c == 116:
        return p + 4 if ld32(src, p) == TRUE else -MALFORMED
    if c == 102:
        return p + 5 if ld32(src, p + 1) == ALSE else -MALFORMED
    if c == 110:
        return p + 4 if ld32(src, p) == NULL else -MALFORMED
    return skip_number(src, p)


@apart
def skip_value(src: Bytes, p: Int, most: Int) -> Int:
    """The position after the value at ``p``, blanks before it included, or -code.

    ``src`` uint8[n] in: a text that a zero byte ends with padding behind it; ``most``: levels that the value may have, SLOW where
    there are more. Never allocates, raises, or reads past the padding.
    """
    most = min(most, SKIP_DEPTH)
    depth, objects, is_name = 0, U(0), False
    while True:
        p, c = blank(src, p)
        if c == QUOTE:
            p = skip_string(src, p + 1)
            if p < 0:
                return p
            if is_name:
                p, c = blank(src, p)
                if c != 58:
                    return -MALFORMED
                p += 1
                is_name = False
                continue
        elif is_name:
            return -MALFORMED
        elif c == 123 or c == 91:  # noqa: PLR1714 - Numba compares faster so
            if depth >= most:
                return -SLOW
            depth += 1
            objects = objects << U(1) | U(c == 123)
            p, x = blank(src, p + 1)
            if x != c + 2:
                is_name = c == 123
                continue
            p += 1
            depth -= 1
            objects = objects >> U(1)
        else:
            p = skip_word(src, p, c)
            if p < 0:
                return p
        while True:
            if depth == 0:
                return p
            p, c = blank(src, p)
            if c == 44:
                break
            if c != 93 + 32 * np.int64(objects & U(1)):
                return -MALFORMED
            p += 1
            depth -= 1
            objects = objects >> U(1)
        p += 1
        is_name = objects & U(1) != U(0)
