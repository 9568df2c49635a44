# ruff: noqa: PLR2004, C901, PLR0912, PLR0915 - a machine's loop is one function; the numbers are bytes
"""The Protobuf machine: puts each field of a payload into its column, whatever order the fields come in.

The arena is zeroed memory, so that an unset field needs no work: its value is 0 and its valid byte too. An offset of 0 is one that was
not set; a running maximum fills them in when the batch ends. The items of a list are numbered by a counter for each list column.
"""

from __future__ import annotations

import numpy as np

from thalweg.kernels import protobuf_ops as op_
from thalweg.kernels.jit import apart, inline, kernel
from thalweg.kernels.memory import Bytes, Int, Longs, U, Words, ld32, ld64, rd, utf8_fault
from thalweg.kernels.program import DEPTH, LIMIT, MALFORMED, NULL_ROW, OK, SLOW, UTF8
from thalweg.kernels.protobuf_check import check, plain
from thalweg.kernels.protobuf_rows import any_key_repeats, has_all, undo
from thalweg.kernels.protobuf_values import packed, text, time, varint_value
from thalweg.kernels.protobuf_wire import find, long_tag, number, read_length, skip

PLENTY = np.int64(1) << np.int64(60)


@kernel
def decode(
    src: Bytes, offs: Words, skips: Words, present: Bytes, prog: Longs, table: Words, aux: Longs, maps: Longs, cols: Longs, levels: Longs,
    counters: Longs, saved: Longs, caps: Longs, starts: Longs, stack: Longs, groups: Longs, seen: Words, h8: Bytes, h32: Words, h64: Longs,
    state: Longs, codes: Bytes, faults: Longs, rows: Words,
) -> Int:  # fmt: skip
    """Decodes rows from ``state[S_ROW]`` on; returns the row that needs a larger arena, or the number of rows.

    ``src`` uint8[] in: all payloads; ``offs`` int32[n + 1] in: where each begins; ``skips`` int32[1 or n] in: bytes of framing before each message;
    ``present`` uint8[0 or n] in: 0 for no payload; ``prog`` int64[m * WORDS], ``table`` int32[], ``aux`` int64[], ``maps`` int64[2 * maps] in: the program; ``cols``
    int64[c * FIELDS], ``levels`` int64[c] in: columns and the counters of their slots; ``counters`` int64[s] in and out; ``saved``, ``starts`` int64[s]
    scratch; ``caps`` int64[s] in: room of each; ``stack`` int64[], ``groups`` int64[MAX_LEVELS], ``seen`` int32[] scratch; ``h8`` uint8[], ``h32`` int32[], ``h64`` int64[] out:
    the arena; ``state`` int64[STATE] in and out; ``codes`` uint8[n], ``faults`` int64[n * FAULT] (bad rows only), ``rows`` int32[n] (good ones, ``state[S_OUT]`` of
    them) out. Never allocates, raises, or reads past the end.
    """
    i, row, n, room = state[op_.S_ROW], state[op_.S_OUT], offs.shape[0] - 1, np.int64(-1)
    while i < n:
        p, end, code, room = begin(i, offs, skips, present, counters, saved, caps, state, room)
        if room < 0:
            break
        q, last, f, tag, k, sp = p, end, np.int64(0), np.int64(0), row, np.int64(0)
        tb, left, finer = state[op_.S_ROOT], state[op_.S_ITEMS], state[op_.S_FINER]
        while code == OK:
            if p >= end:
                if table[U(tb - op_.T_REQUIRED)] != 0 and not has_all(np.int64(table[U(tb - op_.T_REQUIRED)]), k, prog, aux, h8):
                    code = np.int64(SLOW)
                if code != OK or sp == 0:
                    break
                code, p, end, tb, k, sp, left, f = leave(src, p, code, tb, k, sp, left, prog, counters, stack, h32)
                continue
            q = p
            tag, p, f = next_field(src, p, end, table, tb, aux)
            if p < 0:
                code = np.int64(MALFORMED)
                break
            op, s = prog[U(f)], k
            if prog[U(f + op_.R_MODE)] != op_.PLAIN:
                code, s = presence(k, prog, f, op, counters, h8, h32)
                if code != OK:
                    break
            to = prog[U(f + op_.R_DATA)] + s
            if op <= op_.LAST_VARINT:
                if op == op_.SKIP:
                    code, p, tb, k, sp = unknown(src, p, end, tag, tb, k, sp, prog, table, aux, stack, groups, h8)
                    continue
                v, p = number(src, p, end)
                if p < 0:
                    code = np.int64(MALFORMED)
                elif op == op_.I64:
                    h64[U(to)] = v
                elif op == op_.I32:
                    h32[U(to)] = np.int32(v)
                else:
                    code = varint_value(v, op, to, prog, f, aux, h8, h32, h64)
            elif op <= op_.X32:
                code, p = fixed(src, p, end, op, to, h32, h64)
            elif op <= op_.BYTES:
                code, p = bytes_value(src, p, end, last, op, s, prog, f, counters, starts, h8, h32)
            elif op <= op_.GROUP:
                code, p, end, tb, k, sp, left = enter(src, p, end, op, tb, k, s, sp, left, prog, f, stack)
            elif op <= op_.DURATION:
                code, p, left = time_value(src, p, end, s, sp, left, prog, f, groups, state, h64)
            else:
                code, p, left = rare(src, p, end, k, s, tag, sp, left, prog, f, table, aux, counters, starts, stack, groups, h8, h32, h64)
        if code == OK and maps.shape[0] != 0 and any_key_repeats(maps, row, prog, counters, saved, seen, h8, h32, h64):
            code, f = np.int64(SLOW), np.int64(0)
        if code == OK:
            rows[U(row)] = np.int32(i)
            row += 1
        else:
            note(i, code, q, f, tag, offs, codes, faults)
            state[op_.S_FINER] = finer
            undo(cols, levels, row, counters, saved, h8, h32, h64)
        i += 1
    state[op_.S_ROW], state[op_.S_OUT] = i, row
    return i


@inline
def begin(
    i: Int, offs: Words, skips: Words, present: Bytes, counters: Longs, saved: Longs, caps: Longs, state: Longs, room: Int,
) -> tuple[Int, Int, Int, Int]:  # fmt: skip
    """``(position, end, code, room left)`` of row ``i``; without room for it, the room is negative."""
    p = np.int64(offs[U(i)]) + skips[U(min(i, skips.shape[0] - 1))]
    end = np.int64(offs[U(i + 1)])
    room -= end - p + state[op_.S_ROOM]
    if room < 0:
        room = PLENTY
        for j in range(counters.shape[0]):
            room = min(room, caps[U(j)] - counters[U(j)])
        room -= end - p + state[op_.S_ROOM]
    for j in range(counters.shape[0]):
        saved[U(j)] = counters[U(j)]
    code = np.int64(MALFORMED if p > end else OK)
    if present.shape[0] != 0 and present[U(i)] == 0:
        code = np.int64(NULL_ROW)
    return p, end, code, room


@apart
def note(i: Int, code: Int, q: Int, f: Int, tag: Int, offs: Words, codes: Bytes, faults: Longs) -> None:
    """Writes down what is wrong with row ``i``."""
    codes[U(i)] = np.uint8(code)
    faults[U(i * op_.FAULT + op_.B_WHERE)] = q - offs[U(i)]
    faults[U(i * op_.FAULT + op_.B_ROW)] = f
    faults[U(i * op_.FAULT + op_.B_DETAIL)] = tag


@inline
def next_field(src: Bytes, p: Int, end: Int, table: Words, tb: Int, aux: Longs) -> tuple[Int, Int, Int]:
    """``(tag, next position, program row)``; needs ``p < end``."""
    tag = rd(src, p)
    if tag < 128:
        return tag, p + 1, np.int64(table[U(tb + tag)])
    tag, p = long_tag(src, p, end)
    if p < 0:
        return tag, p, np.int64(0)
    return tag, p, find(table, tb, tag, aux)


@inline
def fixed(src: Bytes, p: Int, end: Int, op: Int, to: Int, h32: Words, h64: Longs) -> tuple[Int, Int]:
    """Eight or four bytes: ``(code, next position)``."""
    if op == op_.X64:
        if end - p < 8:
            return np.int64(MALFORMED), p
        h64[U(to)] = np.int64(ld64(src, p))
        return np.int64(OK), p + 8
    if end - p < 4:
        return np.int64(MALFORMED), p
    h32[U(to)] = np.int32(np.int64(ld32(src, p)))
    return np.int64(OK), p + 4


@inline
def bytes_value(
    src: Bytes, p: Int, end: Int, last: Int, op: Int, s: Int, prog: Longs, f: Int, counters: Longs, starts: Longs, h8: Bytes, h32: Words,
) -> tuple[Int, Int]:  # fmt: skip
    """Text or bytes to slot ``s``: ``(code, next position)``."""
    n, p = read_length(src, p, end)
    if p < 0:
        return np.int64(MALFORMED), p
    high = text(src, p, n, last, prog, f, s, counters, starts, h8, h32)
    if high != U(0) and op == op_.TEXT and utf8_fault(src, p, p + n) >= 0:
        return np.int64(UTF8), p
    return np.int64(OK), p + n


@inline
def enter(
    src: Bytes, p: Int, end: Int, op: Int, tb: Int, k: Int, s: Int, sp: Int, left: Int, prog: Longs, f: Int, stack: Longs,
) -> tuple[Int, Int, Int, Int, Int, Int, Int]:  # fmt: skip
    """Goes into a message, a group, or an entry: ``(code, position, end, table, slot, stack, items left)``."""
    stack[U(sp + op_.F_END)] = end
    stack[U(sp + op_.F_TABLE)] = tb
    stack[U(sp + op_.F_SLOT)] = k
    stack[U(sp + op_.F_ROW)] = f
    code = np.int64(OK)
    if op != op_.GROUP:
        n, p = read_length(src, p, end)
        end = p + n
        if p < 0:
            code = np.int64(MALFORMED)
    left -= prog[U(f + op_.R_MODE)] == op_.ITEM
    if left < 0:
        code = np.int64(LIMIT)
    if sp >= op_.MAX_LEVELS * op_.FRAME:
        code = np.int64(DEPTH)
    return code, p, end, prog[U(f + op_.R_NEXT)], s, sp + op_.FRAME, left


@inline
def leave(
    src: Bytes, p: Int, code: Int, tb: Int, k: Int, sp: Int, left: Int, prog: Longs, counters: Longs, stack: Longs, h32: Words,
) -> tuple[Int, Int, Int, Int, Int, Int, Int, Int]:  # fmt: skip
    """At the end of a message: the next item of the same list, or the message around it.

    ``(code, position, end, table, slot, stack, items left, program row)``.
    """
    sp -= op_.FRAME
    f, end, k = stack[U(sp + op_.F_ROW)], stack[U(sp + op_.F_END)], stack[U(sp + op_.F_SLOT)]
    if p < end and rd(src, p) == prog[U(f + op_.R_EXTRA)] and prog[U(f)] == op_.MESSAGE:
        n, p = read_length(src, p + 1, end)
        left -= 1
        if p < 0 or left < 0:
            code = np.int64(MALFORMED if p < 0 else LIMIT)
        return code, p, p + n, tb, item(k, prog, f, counters, h32), sp + op_.FRAME, left, f
    if prog[U(f)] == op_.GROUP:
        code = np.int64(MALFORMED)
    return code, p, end, stack[U(sp + op_.F_TABLE)], k, sp, left, f


@apart
def unknown(
    src: Bytes, p: Int, end: Int, tag: Int, tb: Int, k: Int, sp: Int, prog: Longs, table: Words, aux: Longs, stack: Longs, groups: Longs, h8: Bytes,
) -> tuple[Int, Int, Int, Int, Int]:  # fmt: skip
    """A field that no column takes, or the end of a group: ``(code, position, table, slot, stack)``."""
    if tag & 7 != 4 or sp == 0:
        p = skip(src, p, end, tag, sp // op_.FRAME, groups)
        return np.int64(-p if p < 0 else OK), p, tb, k, sp
    sp -= op_.FRAME
    f = stack[U(sp + op_.F_ROW)]
    code = np.int64(OK)
    if prog[U(f)] != op_.GROUP or prog[U(f + op_.R_EXTRA)] != tag >> np.int64(3):
        code = np.int64(MALFORMED)
    elif table[U(tb - op_.T_REQUIRED)] != 0 and not has_all(np.int64(table[U(tb - op_.T_REQUIRED)]), k, prog, aux, h8):
        code = np.int64(SLOW)
    return code, p, stack[U(sp + op_.F_TABLE)], stack[U(sp + op_.F_SLOT)], sp


@inline
def item(k: Int, prog: Longs, f: Int, counters: Longs, h32: Words) -> Int:
    """The slot of one more item of the list in slot ``k``."""
    level = prog[U(f + op_.R_ARG)]
    s = counters[U(level)]
    counters[U(level)] = s + 1
    h32[U(prog[U(f + op_.R_PRES)] + k + 1)] = np.int32(s + 1)
    return s


@inline
def presence(k: Int, prog: Longs, f: Int, op: Int, counters: Longs, h8: Bytes, h32: Words) -> tuple[Int, Int]:
    """Marks a field of slot ``k`` as set: ``(code, slot of the value)``."""
    mode = prog[U(f + op_.R_MODE)]
    if mode == op_.ITEM:
        return np.int64(OK), item(k, prog, f, counters, h32)
    at = prog[U(f + op_.R_PRES)] + k
    if mode == op_.PRESENT:
        h8[U(at)] = 1
        return np.int64(OK), k
    was = np.int64(h8[U(at)])
    if mode == op_.ONCE:
        h8[U(at)] = 1
        return np.int64(OK if was == 0 else SLOW), k
    member = prog[U(f + op_.R_ARG)]
    h8[U(at)] = np.uint8(member)
    if mode == op_.ONEOF or was == 0:
        return np.int64(OK), k
    return np.int64(SLOW if was != member or (op > op_.BYTES and op != op_.CHECK_TEXT) else OK), k


@inline
def time_value(
    src: Bytes, p: Int, end: Int, s: Int, sp: Int, left: Int, prog: Longs, f: Int, groups: Longs, state: Longs, h64: Longs,
) -> tuple[Int, Int, Int]:  # fmt: skip
    """A Timestamp or a Duration to slot ``s``: ``(code, next position, items left)``."""
    n, p = read_length(src, p, end)
    if p < 0:
        return np.int64(MALFORMED), p, left
    left -= prog[U(f + op_.R_MODE)] == op_.ITEM
    if left < 0 or sp >= op_.MAX_LEVELS * op_.FRAME:
        return np.int64(DEPTH if left >= 0 else LIMIT), p, left
    return time(src, p, p + n, s, prog, f, sp, groups, state, h64), p + n, left


@apart
def rare(
    src: Bytes, p: Int, end: Int, k: Int, s: Int, tag: Int, sp: Int, left: Int, prog: Longs, f: Int, table: Words, aux: Longs,
    counters: Longs, starts: Longs, stack: Longs, groups: Longs, h8: Bytes, h32: Words, h64: Longs,
) -> tuple[Int, Int, Int]:  # fmt: skip
    """Packed numbers, what is only checked, or kept as bytes: ``(code, next position, items left)``."""
    op = prog[U(f)]
    if op == op_.LEAVE:
        return np.int64(SLOW), p, left
    left -= prog[U(f + op_.R_MODE)] == op_.ITEM if op == op_.RAW else prog[U(f + op_.R_DATA)] * (op >= op_.CHECK)
    if left < 0:
        return np.int64(LIMIT), p, left
    if op > op_.CHECK_GROUP:
        p = plain(src, p, end, tag, op, sp // op_.FRAME, groups)
        return np.int64(-p if p < 0 else OK), p, left
    n, start, group, tb = end - p, p, prog[U(f + op_.R_EXTRA)], prog[U(f + op_.R_NEXT)]
    if op != op_.CHECK_GROUP:
        group = np.int64(0)
        n, start = read_length(src, p, end)
        if start < 0:
            return np.int64(MALFORMED), p, left
    if op <= op_.PACKED32:
        return packed(src, start, start + n, k, prog, f, aux, counters, h8, h32, h64), start + n, left
    if op == op_.RAW:
        tb = prog[U(f + op_.R_EXTRA)]
        text(src, start, n, start + n, prog, f, s, counters, starts, h8, h32)
    p, left = check(src, start, start + n, tb, group, sp, prog, table, aux, stack, groups, left)
    return np.int64(-p if p < 0 else OK), p, left
