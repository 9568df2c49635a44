"""BLAKE3 over eight messages at a time: each lane compresses the blocks of one record, and takes the next one when it is done.

A message is one record's encoding for its id (``arrow/record_id.py``): a head that is put together here, then the payload.
The compression function is one straight loop over the lanes, which LLVM turns into vector code.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thalweg.kernels.jit import apart, inline, kernel
from thalweg.kernels.memory import Bytes, Int, Longs, U, Words, copy, ld32, st32, st64

Lanes = npt.NDArray[np.uint32]

LANES = 8
BLOCK, CHUNK = 64, 1024
DIGEST = 16
SPARE = 72
"""Bytes after a lane's chunk: the last block is filled up with zeros, and copies write a word past their end."""
STACK = 64
"""Chaining values that one message can leave open: one for each bit of its number of chunks."""
COUNTER, LENGTH, FLAGS = 16 * LANES, 17 * LANES, 18 * LANES
"""Rows of ``blocks`` after the 16 words of each lane's block."""
CHUNK_START, CHUNK_END, PARENT, ROOT = 1, 2, 4, 8
L_ROW, L_HEAD, L_SIZE, L_DONE, L_BYTES, L_AT, L_STACK, L_MERGES = range(8)
"""Words of a lane: its record (-1: none), bytes of its head and its whole message, bytes before this chunk, bytes of this chunk,
bytes of it that are compressed, chaining values on the stack, and merges that are due."""
STATE = 8
WORK_A_LANE = CHUNK + SPARE
WORK, STATES, BLOCKS, CHAINS, STACKS = LANES * WORK_A_LANE, LANES * STATE, 19 * LANES, 8 * LANES, 8 * LANES * (STACK + 1)
"""Sizes of the scratch arrays; ``done`` is as long as ``chain``."""
IV0, IV1, IV2, IV3 = np.uint32(0x6A09E667), np.uint32(0xBB67AE85), np.uint32(0x3C6EF372), np.uint32(0xA54FF53A)
IV4, IV5, IV6, IV7 = np.uint32(0x510E527F), np.uint32(0x9B05688C), np.uint32(0x1F83D9AB), np.uint32(0x5BE0CD19)


@inline
def mix(a: Int, b: Int, c: Int, d: Int, x: Int, y: Int) -> tuple[Int, Int, Int, Int]:
    """The quarter round, over uint32."""
    a = np.uint32(a + b + x)
    d = np.uint32(d ^ a)
    d = np.uint32(d >> np.uint32(16)) | np.uint32(d << np.uint32(16))
    c = np.uint32(c + d)
    b = np.uint32(b ^ c)
    b = np.uint32(b >> np.uint32(12)) | np.uint32(b << np.uint32(20))
    a = np.uint32(a + b + y)
    d = np.uint32(d ^ a)
    d = np.uint32(d >> np.uint32(8)) | np.uint32(d << np.uint32(24))
    c = np.uint32(c + d)
    b = np.uint32(b ^ c)
    b = np.uint32(b >> np.uint32(7)) | np.uint32(b << np.uint32(25))
    return np.uint32(a), np.uint32(b), np.uint32(c), np.uint32(d)


@inline
def whirl(
    v0: Int, v1: Int, v2: Int, v3: Int, v4: Int, v5: Int, v6: Int, v7: Int,
    v8: Int, v9: Int, v10: Int, v11: Int, v12: Int, v13: Int, v14: Int, v15: Int,
    x0: Int, x1: Int, x2: Int, x3: Int, x4: Int, x5: Int, x6: Int, x7: Int,
    x8: Int, x9: Int, x10: Int, x11: Int, x12: Int, x13: Int, x14: Int, x15: Int,
) -> tuple[Int, ...]:
    """One round: columns, then diagonals; ``x`` are the block's words in the round's order."""
    v0, v4, v8, v12 = mix(v0, v4, v8, v12, x0, x1)
    v1, v5, v9, v13 = mix(v1, v5, v9, v13, x2, x3)
    v2, v6, v10, v14 = mix(v2, v6, v10, v14, x4, x5)
    v3, v7, v11, v15 = mix(v3, v7, v11, v15, x6, x7)
    v0, v5, v10, v15 = mix(v0, v5, v10, v15, x8, x9)
    v1, v6, v11, v12 = mix(v1, v6, v11, v12, x10, x11)
    v2, v7, v8, v13 = mix(v2, v7, v8, v13, x12, x13)
    v3, v4, v9, v14 = mix(v3, v4, v9, v14, x14, x15)
    return v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15


@apart
def compress(blocks: Lanes, chain: Lanes, done: Lanes) -> None:
    """The compression function in every lane.

    ``blocks`` uint32[19 * LANES] in: the block's words, the counter, its length and flags; ``chain`` uint32[8 * LANES] in: the chaining
    values; ``done`` uint32[8 * LANES] out: the next ones. Word w of lane k is at ``w * LANES + k``. Never allocates or raises.
    """
    for k in range(np.int64(len(chain)) // 8):  # a number that LLVM does not know: it refuses loops of eight the check that it needs
        m0 = blocks[U(0 * LANES + k)]
        m1 = blocks[U(1 * LANES + k)]
        m2 = blocks[U(2 * LANES + k)]
        m3 = blocks[U(3 * LANES + k)]
        m4 = blocks[U(4 * LANES + k)]
        m5 = blocks[U(5 * LANES + k)]
        m6 = blocks[U(6 * LANES + k)]
        m7 = blocks[U(7 * LANES + k)]
        m8 = blocks[U(8 * LANES + k)]
        m9 = blocks[U(9 * LANES + k)]
        m10 = blocks[U(10 * LANES + k)]
        m11 = blocks[U(11 * LANES + k)]
        m12 = blocks[U(12 * LANES + k)]
        m13 = blocks[U(13 * LANES + k)]
        m14 = blocks[U(14 * LANES + k)]
        m15 = blocks[U(15 * LANES + k)]
        v0, v1, v2, v3 = chain[U(k)], chain[U(LANES + k)], chain[U(2 * LANES + k)], chain[U(3 * LANES + k)]
        v4, v5, v6, v7 = chain[U(4 * LANES + k)], chain[U(5 * LANES + k)], chain[U(6 * LANES + k)], chain[U(7 * LANES + k)]
        v8, v9, v10, v11 = IV0, IV1, IV2, IV3
        v12, v13, v14, v15 = blocks[U(COUNTER + k)], np.uint32(0), blocks[U(LENGTH + k)], blocks[U(FLAGS + k)]
        v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15 = whirl(
            v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15, m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15,
        )  # fmt: skip
        v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15 = whirl(
            v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15, m2, m6, m3, m10, m7, m0, m4, m13, m1, m11, m12, m5, m9, m14, m15, m8,
        )  # fmt: skip
        v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15 = whirl(
            v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15, m3, m4, m10, m12, m13, m2, m7, m14, m6, m5, m9, m0, m11, m15, m8, m1,
        )  # fmt: skip
        v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15 = whirl(
            v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15, m10, m7, m12, m9, m14, m3, m13, m15, m4, m0, m11, m2, m5, m8, m1, m6,
        )  # fmt: skip
        v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15 = whirl(
            v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15, m12, m13, m9, m11, m15, m10, m14, m8, m7, m2, m5, m3, m0, m1, m6, m4,
        )  # fmt: skip
        v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15 = whirl(
            v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15, m9, m14, m11, m5, m8, m12, m15, m1, m13, m3, m0, m10, m2, m6, m4, m7,
        )  # fmt: skip
        v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15 = whirl(
            v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15, m11, m15, m5, m0, m1, m9, m8, m6, m14, m10, m2, m12, m3, m4, m7, m13,
        )  # fmt: skip
        done[U(0 * LANES + k)] = np.uint32(v0 ^ v8)
        done[U(1 * LANES + k)] = np.uint32(v1 ^ v9)
        done[U(2 * LANES + k)] = np.uint32(v2 ^ v10)
        done[U(3 * LANES + k)] = np.uint32(v3 ^ v11)
        done[U(4 * LANES + k)] = np.uint32(v4 ^ v12)
        done[U(5 * LANES + k)] = np.uint32(v5 ^ v13)
        done[U(6 * LANES + k)] = np.uint32(v6 ^ v14)
        done[U(7 * LANES + k)] = np.uint32(v7 ^ v15)


@kernel
def digests(
    heads: Bytes, head_offs: Words, src: Bytes, offs: Words, present: Bytes,
    work: Bytes, lanes: Longs, blocks: Lanes, chain: Lanes, done: Lanes, stack: Lanes, out: Bytes,
) -> None:  # fmt: skip
    """The first 16 bytes of BLAKE3 over ``heads[i] + src[i]`` for every row.

    ``heads`` and ``src`` uint8[] in with ``head_offs`` and ``offs`` int32[n + 1]; ``present`` uint8[n] in, empty when all are: the others
    have no bytes in ``src``. Scratch, sizes from :data:`WORK` to :data:`STACKS`: ``work``, ``lanes``, ``blocks``, ``chain``, ``done``,
    ``stack``. ``out`` uint8[16 * n] out. Never allocates, raises, or reads past the ends.
    """
    rows = np.int64(len(offs)) - 1
    taken = np.int64(0)
    for k in range(LANES):
        lanes[U(k * STATE + L_ROW)] = -1
    while True:
        busy = np.int64(0)
        for k in range(LANES):
            if lanes[U(k * STATE + L_ROW)] < 0 and taken < rows:
                begin(np.int64(k), taken, head_offs, offs, present, lanes)
                fill(np.int64(k), heads, head_offs, src, offs, work, lanes, chain)
                taken += 1
            busy += load(np.int64(k), lanes, blocks, chain, stack, work)
        if busy == 0:
            return
        compress(blocks, chain, done)
        for k in range(CHAINS):
            chain[U(k)] = done[U(k)]
        for k in range(LANES):
            if at_end(np.int64(k), lanes) and settle(np.int64(k), lanes, done, stack, out):
                fill(np.int64(k), heads, head_offs, src, offs, work, lanes, chain)


@inline
def begin(k: Int, row: Int, head_offs: Words, offs: Words, present: Bytes, lanes: Longs) -> None:
    """Lane ``k`` takes a row."""
    at = k * STATE
    head = np.int64(head_offs[U(row + 1)]) - np.int64(head_offs[U(row)])
    payload = np.int64(offs[U(row + 1)]) - np.int64(offs[U(row)])
    if len(present) > 0 and present[U(row)] == 0:
        payload = np.int64(0)
    lanes[U(at + L_ROW)] = row
    lanes[U(at + L_HEAD)] = head
    lanes[U(at + L_SIZE)] = head + payload
    lanes[U(at + L_DONE)] = 0
    lanes[U(at + L_STACK)] = 0
    lanes[U(at + L_MERGES)] = 0


@apart
def fill(k: Int, heads: Bytes, head_offs: Words, src: Bytes, offs: Words, work: Bytes, lanes: Longs, chain: Lanes) -> None:
    """Copies the next chunk of the lane's row to ``work``, zeros after it, and begins a chain."""
    at = k * STATE
    row, head, before = lanes[U(at + L_ROW)], lanes[U(at + L_HEAD)], lanes[U(at + L_DONE)]
    n = lanes[U(at + L_SIZE)] - before
    if n > CHUNK:
        n = np.int64(CHUNK)
    to = k * WORK_A_LANE
    own = head - before
    if own < 0:
        own = np.int64(0)
    if own > n:
        own = np.int64(n)
    if own > 0:
        copy(heads, np.int64(head_offs[U(row)]) + before, own, np.int64(len(heads)), work, to)
    if n > own:
        copy(src, np.int64(offs[U(row)]) + before + own - head, n - own, np.int64(len(src)), work, to + own)
    for j in range(8):
        st64(work, to + n + 8 * j, U(0))
    lanes[U(at + L_BYTES)] = n
    lanes[U(at + L_AT)] = 0
    restart(k, chain)


@inline
def restart(k: Int, chain: Lanes) -> None:
    """The chaining value before the first block."""
    chain[U(k)] = IV0
    chain[U(LANES + k)] = IV1
    chain[U(2 * LANES + k)] = IV2
    chain[U(3 * LANES + k)] = IV3
    chain[U(4 * LANES + k)] = IV4
    chain[U(5 * LANES + k)] = IV5
    chain[U(6 * LANES + k)] = IV6
    chain[U(7 * LANES + k)] = IV7


@inline
def load(k: Int, lanes: Longs, blocks: Lanes, chain: Lanes, stack: Lanes, work: Bytes) -> Int:
    """The lane's next block or parent; 1, or 0 where the lane has nothing to do."""
    if lanes[U(k * STATE + L_ROW)] < 0:
        return np.int64(0)
    if lanes[U(k * STATE + L_MERGES)] > 0:
        load_parent(k, lanes, blocks, chain, stack)
    else:
        load_block(k, lanes, blocks, work)
    return np.int64(1)


@inline
def load_block(k: Int, lanes: Longs, blocks: Lanes, work: Bytes) -> None:
    """The next block of the lane's chunk."""
    at = k * STATE
    begun, n, before = lanes[U(at + L_AT)], lanes[U(at + L_BYTES)], lanes[U(at + L_DONE)]
    p = k * WORK_A_LANE + begun
    for w in range(16):
        blocks[U(w * LANES + k)] = np.uint32(ld32(work, p + 4 * w))
    left = n - begun
    flags = np.int64(0)
    if begun == 0:
        flags = np.int64(CHUNK_START)
    if left <= BLOCK:
        flags |= CHUNK_END
        if before + n == lanes[U(at + L_SIZE)] and lanes[U(at + L_STACK)] == 0:
            flags |= ROOT
    else:
        left = np.int64(BLOCK)
    blocks[U(COUNTER + k)] = np.uint32(before // CHUNK)
    blocks[U(LENGTH + k)] = np.uint32(left)
    blocks[U(FLAGS + k)] = np.uint32(flags)


@apart
def load_parent(k: Int, lanes: Longs, blocks: Lanes, chain: Lanes, stack: Lanes) -> None:
    """The two topmost chaining values as a block."""
    at = k * STATE
    top = lanes[U(at + L_STACK)]
    p = (k * STACK + top - 1) * 8
    for w in range(16):
        blocks[U(w * LANES + k)] = stack[U(p + w)]
    restart(k, chain)
    last = lanes[U(at + L_DONE)] + lanes[U(at + L_BYTES)] == lanes[U(at + L_SIZE)]
    blocks[U(COUNTER + k)] = np.uint32(0)
    blocks[U(LENGTH + k)] = np.uint32(BLOCK)
    blocks[U(FLAGS + k)] = np.uint32(PARENT | ROOT) if last and top == 1 else np.uint32(PARENT)


@inline
def at_end(k: Int, lanes: Longs) -> bool:
    """Whether what the lane has compressed was a parent or its chunk's last block; counts the block where it was not."""
    at = k * STATE
    if lanes[U(at + L_ROW)] < 0:
        return False
    if lanes[U(at + L_MERGES)] > 0:
        return True
    lanes[U(at + L_AT)] += BLOCK
    return bool(lanes[U(at + L_AT)] >= lanes[U(at + L_BYTES)])


@apart
def settle(k: Int, lanes: Longs, done: Lanes, stack: Lanes, out: Bytes) -> bool:
    """Takes what a lane's chunk or parent became; True when the lane wants its next chunk."""
    at = k * STATE
    top, n = lanes[U(at + L_STACK)], lanes[U(at + L_BYTES)]
    end = lanes[U(at + L_DONE)] + n
    last = end == lanes[U(at + L_SIZE)]
    if lanes[U(at + L_MERGES)] > 0:
        top -= 1
        lanes[U(at + L_STACK)] = top
        lanes[U(at + L_MERGES)] -= 1
    else:
        lanes[U(at + L_MERGES)] = top if last else trailing_zeros(end // CHUNK)
    if lanes[U(at + L_MERGES)] == 0 and last:
        p = lanes[U(at + L_ROW)] * DIGEST
        for w in range(4):
            st32(out, p + 4 * w, U(done[U(w * LANES + k)]))
        lanes[U(at + L_ROW)] = -1
        return False
    for w in range(8):
        stack[U((k * STACK + top) * 8 + w)] = done[U(w * LANES + k)]
    if lanes[U(at + L_MERGES)] > 0:
        return False
    lanes[U(at + L_STACK)] = top + 1
    lanes[U(at + L_DONE)] = end
    return True


@inline
def trailing_zeros(n: Int) -> Int:
    """Zero bits below the lowest one; ``n`` is not 0."""
    out = np.int64(0)
    while n & 1 == 0:
        n >>= 1
        out += 1
    return np.int64(out)
