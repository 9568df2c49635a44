# ruff: noqa: PLR2004 - the numbers are widths in bytes
"""Column slots inside kernels: what is in use, how much room is left, and NULL for a whole subtree.

No column keeps a length. A slot follows from the parent: a struct's child has the struct's slot, an item's slots begin at
``offsets[slot]`` of its list, a string's bytes at ``offsets[slot]``. So a bad row needs no rollback: the next row takes its
slots. Only columns with ``C_COUNT >= 0`` count (children of a union), and their few counters are restored.
"""

from __future__ import annotations

import numpy as np

from thalweg.kernels.jit import apart, inline, kernel
from thalweg.kernels.memory import Bytes, Int, Longs, U, Words
from thalweg.kernels.program import (
    BYTES,
    C_BCAP,
    C_CAP,
    C_COUNT,
    C_DATA,
    C_END,
    C_KIND,
    C_OFFS,
    C_PARENT,
    C_PICK,
    C_SHARED,
    C_TAG,
    C_VALID,
    C_WIDTH,
    FIELDS,
    FIXED,
    LIST,
    UNION,
)

PLENTY = np.int64(1) << np.int64(60)


@kernel
def usage(cols: Longs, rows: Int, h32: Words, counters: Longs, used: Longs, used_bytes: Longs) -> None:
    """Slots and bytes that each column has in use after ``rows`` rows.

    ``cols`` int64[n * FIELDS] in, ``h32`` int32[] in, ``counters`` int64[] in, ``used`` and ``used_bytes`` int64[n] out.
    Never allocates, raises, or reads past the end.
    """
    used[0] = rows
    used_bytes[0] = 0
    for t in range(1, used.shape[0]):
        b = t * FIELDS
        q = cols[b + C_PARENT]
        if cols[b + C_COUNT] >= 0:
            used[t] = counters[cols[b + C_COUNT]]
        elif cols[q * FIELDS + C_KIND] == LIST:
            used[t] = h32[cols[q * FIELDS + C_OFFS] + used[q]]
        else:
            used[t] = used[q]
        used_bytes[t] = np.int64(h32[cols[b + C_OFFS] + used[t]]) if cols[b + C_KIND] == BYTES else np.int64(0)


@apart
def room(cols: Longs, rows: Int, h32: Words, counters: Longs, used: Longs, used_bytes: Longs) -> Int:
    """Slots and bytes that every column still has room for after ``rows`` rows; arrays as :func:`usage`.

    A kernel asks once, counts down what its rows may take, and asks again when nothing is left.
    """
    usage(cols, rows, h32, counters, used, used_bytes)
    left = PLENTY
    for t in range(1, used.shape[0]):
        b = t * FIELDS
        if cols[b + C_SHARED] == 0:
            left = min(left, cols[b + C_CAP] - used[t])
        if cols[b + C_KIND] == BYTES:
            left = min(left, cols[b + C_BCAP] - used_bytes[t])
    return left


@inline
def zero(cols: Longs, b: Int, k: Int, h8: Bytes, h32: Words, h64: Longs) -> None:
    """Zeros in slot ``k`` of the FIXED column whose table row begins at ``b``."""
    width = cols[b + C_WIDTH]
    data = cols[b + C_DATA]
    if width == 8:
        h64[U(data + k)] = 0
    elif width == 4:
        h32[U(data + k)] = 0
    elif width & 7 == 0:
        n = width >> 3
        for j in range(n):
            h64[U(data + k * n + j)] = 0
    else:
        for j in range(width):
            h8[U(data + k * width + j)] = 0


@apart
def nulls(cols: Longs, t: Int, k: Int, h8: Bytes, h32: Words, h64: Longs, counters: Longs, stack: Longs, sp: Int) -> None:
    """NULL in slot ``k`` of column ``t`` and of every column below it that has a slot there.

    ``cols`` int64[n * FIELDS] in; ``h8`` uint8[], ``h32`` int32[], ``h64`` int64[]: views of the arena, out; ``counters``
    int64[] in and out; ``stack`` int64[] scratch from ``sp`` on, three words for each union in a union. A union has no
    NULL of its own: its column ``C_PICK`` gets one. Never allocates, raises, or reads past the end.
    """
    top = sp
    e = cols[U(t * FIELDS + C_END)]
    while True:
        if t >= e:
            if sp == top:
                return
            sp -= 3
            t = stack[U(sp)]
            e = stack[U(sp + 1)]
            k = stack[U(sp + 2)]
            continue
        b = t * FIELDS
        kind = cols[U(b + C_KIND)]
        if cols[U(b + C_VALID)] >= 0:
            h8[U(cols[U(b + C_VALID)] + k)] = 0
        t += 1
        if kind == FIXED:
            zero(cols, b, k, h8, h32, h64)
        elif kind in (BYTES, LIST):
            o = cols[U(b + C_OFFS)] + k
            h32[U(o + 1)] = h32[U(o)]
            t = cols[U(b + C_END)]
        elif kind == UNION:
            stack[U(sp)] = cols[U(b + C_END)]
            stack[U(sp + 1)] = e
            stack[U(sp + 2)] = k
            sp += 3
            t = cols[U(b + C_PICK)]
            c = cols[U(t * FIELDS + C_COUNT)]
            h8[U(cols[U(b + C_DATA)] + k)] = np.uint8(cols[U(t * FIELDS + C_TAG)])
            h32[U(cols[U(b + C_OFFS)] + k)] = np.int32(counters[U(c)])
            k = counters[U(c)]
            counters[U(c)] += 1
            e = cols[U(t * FIELDS + C_END)]
