# ruff: noqa: PLR2004, PLR1714, SIM109 - a machine compares one by one
"""What a Protobuf row needs at its end: required fields, keys that repeat, and zeros where a bad row has written."""

from __future__ import annotations

import numpy as np

from thalweg.kernels import protobuf_ops as op_
from thalweg.kernels.columns import zero
from thalweg.kernels.jit import apart, inline, kernel
from thalweg.kernels.keys import FACTOR, FEW, repeats
from thalweg.kernels.memory import Bytes, Int, Longs, U, Words
from thalweg.kernels.program import BYTES, C_COUNT, C_DATA, C_KIND, C_OFFS, C_PARENT, C_VALID, FIELDS, FIXED, LIST


@apart
def has_all(at: Int, k: Int, prog: Longs, aux: Longs, h8: Bytes) -> bool:
    """Whether slot ``k`` of a message has all its required fields; ``at``: where in the side table they are listed."""
    for j in range(aux[U(at)]):
        f = aux[U(at + 1 + j)]
        if h8[U(prog[U(f + op_.R_PRES)] + k)] == 0:
            return False
    return True


@apart
def any_key_repeats(
    maps: Longs, k: Int, prog: Longs, counters: Longs, saved: Longs, seen: Words, h8: Bytes, h32: Words, h64: Longs,
) -> bool:  # fmt: skip
    """Whether a key repeats, or may, in one of the maps that the row in slot ``k`` has filled since ``saved``.

    ``maps`` int64[m * 2] in: program row of each map, and the counter of the level that holds it, -1 for the row's own slot. Offsets of
    text keys are filled where the key was left out. Never allocates, raises, or reads past the end.
    """
    for m in range(maps.shape[0] >> 1):
        f = maps[U(2 * m)]
        level = prog[U(f + op_.R_ARG)]
        first = saved[U(level)]
        if counters[U(level)] - first < 2:
            continue
        key = prog[U(f + op_.R_EXTRA)]
        if prog[U(key)] == op_.TEXT:
            fill(prog[U(key + op_.R_OFFS)], first, counters[U(level)], saved[U(prog[U(key + op_.R_NEXT)])], h32)
        slot, last = k, k + 1
        if maps[U(2 * m + 1)] >= 0:
            slot, last = saved[U(maps[U(2 * m + 1)])], counters[U(maps[U(2 * m + 1)])]
        while slot < last:
            end = np.int64(h32[U(prog[U(f + op_.R_PRES)] + slot + 1)])
            if end != 0:
                if end - first >= 2 and keys_repeat(prog, key, first, end, seen, h8, h32, h64):
                    return True
                first = end
            slot += 1
    return False


@inline
def fill(o: Int, first: Int, end: Int, at: Int, h32: Words) -> None:
    """Fills in the offsets of slots ``first`` to ``end`` that were not set; ``at``: where the bytes of ``first`` begin."""
    h32[U(o + first)] = np.int32(at)
    for j in range(first, end):
        if h32[U(o + j + 1)] == 0:
            h32[U(o + j + 1)] = h32[U(o + j)]


@apart
def keys_repeat(prog: Longs, f: Int, first: Int, end: Int, seen: Words, h8: Bytes, h32: Words, h64: Longs) -> bool:
    """Whether two keys of slots ``first`` to ``end`` are equal, or may be; ``f`` is the key's program row."""
    op = prog[U(f)]
    data = prog[U(f + op_.R_DATA)]
    if op == op_.TEXT:
        return repeats(h8, h32, prog[U(f + op_.R_OFFS)], data, first, end, seen)
    size = np.int64(16)
    while size < 2 * (end - first):
        size *= 2
    for j in range(size):
        seen[U(j)] = 0
    steps = np.int64(0)
    for i in range(first, end):
        key = number_key(op, data, i, h8, h32, h64)
        at = np.int64((U(key) * FACTOR) >> U(33)) & (size - 1)
        while seen[U(at)] != 0:
            steps += 1
            if steps > FEW * (end - first) or number_key(op, data, first + seen[U(at)] - 1, h8, h32, h64) == key:
                return True
            at = (at + 1) & (size - 1)
        seen[U(at)] = np.int32(i - first + 1)
    return False


@inline
def number_key(op: Int, data: Int, k: Int, h8: Bytes, h32: Words, h64: Longs) -> Int:
    """A key that is a number or a boolean."""
    if op == op_.BOOL:
        return np.int64(h8[U(data + k)])
    if op == op_.I64 or op == op_.S64 or op == op_.X64:
        return h64[U(data + k)]
    return np.int64(h32[U(data + k)])


@apart
def undo(
    cols: Longs, levels: Longs, k: Int, counters: Longs, saved: Longs, h8: Bytes, h32: Words, h64: Longs,
) -> None:  # fmt: skip
    """Zeros where the row in slot ``k`` has written, and the counters as they were.

    ``cols`` int64[c * FIELDS] in, ``levels`` int64[c] in: the counter of each column's slots, -1 for the row's own; ``counters`` int64[]
    in and out, ``saved`` in; ``h8``, ``h32``, ``h64``: views of the arena, out. Never allocates, raises, or reads past the end.
    """
    for t in range(1, levels.shape[0]):
        b = t * FIELDS
        slot, end = k, k + 1
        if levels[U(t)] >= 0:
            slot, end = saved[U(levels[U(t)])], counters[U(levels[U(t)])]
        kind = cols[U(b + C_KIND)]
        while slot < end:
            if cols[U(b + C_VALID)] >= 0:
                h8[U(cols[U(b + C_VALID)] + slot)] = 0
            if kind == FIXED and cols[U(b + C_DATA)] >= 0:
                zero(cols, b, slot, h8, h32, h64)
            elif kind == BYTES or kind == LIST:
                h32[U(cols[U(b + C_OFFS)] + slot + 1)] = 0
            slot += 1
    for j in range(counters.shape[0]):
        counters[U(j)] = saved[U(j)]


@kernel
def settle(cols: Longs, counters: Longs, rows: Int, h32: Words, used: Longs, used_bytes: Longs) -> None:
    """Fills in the offsets that were not set, each at least the one before, and says what is in use after ``rows`` rows.

    ``cols`` int64[c * FIELDS] in, ``counters`` int64[] in, ``h32`` int32[] in and out: the arena; ``used`` and ``used_bytes`` int64[c] out.
    Never allocates, raises, or reads past the end.
    """
    used[0] = rows
    used_bytes[0] = 0
    for t in range(1, used.shape[0]):
        b = t * FIELDS
        n = used[cols[b + C_PARENT]]
        if cols[b + C_COUNT] >= 0:
            n = counters[cols[b + C_COUNT]]
        used[t] = n
        used_bytes[t] = 0
        if cols[b + C_KIND] == BYTES or cols[b + C_KIND] == LIST:
            o = cols[b + C_OFFS]
            most = h32[U(o)]
            for j in range(o + 1, o + 1 + n):
                most = max(most, h32[U(j)])
                h32[U(j)] = most
            if cols[b + C_KIND] == BYTES:
                used_bytes[t] = np.int64(most)
