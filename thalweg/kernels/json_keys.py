"""Which column a member belongs to: the one that followed last time, else by a hash table of the object's names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thalweg.kernels.jit import inline
from thalweg.kernels.json_ops import N_BITS, N_HASH, N_LENGTH, N_WORD
from thalweg.kernels.json_text import QUOTE, copy_string, plain_end
from thalweg.kernels.memory import ZERO, U, ld64, rd, st64, word

if TYPE_CHECKING:
    from thalweg.kernels.memory import Bytes, Int, Longs, ULongs

FACTOR, TAIL_FACTOR = U(0x9E3779B97F4A7C15), U(0xC2B2AE3D27D4EB4F)
UNKNOWN = -1
RESERVED_NAME = -2


@inline
def same(src: Bytes, p: Int, t: Int, nodes: Longs, words: ULongs) -> bool:
    """Whether the name of node ``t`` and its closing quote lie at ``p``."""
    j = word(nodes, t + N_WORD)
    n = word(nodes, t + N_LENGTH)
    while n > 8:  # noqa: PLR2004 - bytes of a word
        if ld64(src, p) != words[U(j)]:
            return False
        n -= 8
        p += 8
        j += 1
    return bool((ld64(src, p) ^ words[U(j)]) << U(64 - 8 * n) == U(0))


@inline
def find(src: Bytes, p: Int, n: Int, node: Int, nodes: Longs, words: ULongs, table: Longs) -> Int:
    """The member of ``node`` whose name is the ``n`` bytes at ``p``, which a quote follows; UNKNOWN where there is none."""
    bits = word(nodes, node + N_BITS)
    h = digest(src, p, n, bits)
    mask = (1 << bits) - 1
    base = word(nodes, node + N_HASH)
    while True:
        t = word(table, base + h)
        if t < 0:
            return UNKNOWN
        if word(nodes, t + N_LENGTH) == n + 1 and same(src, p, t, nodes, words):
            return t
        h = (h + 1) & mask


@inline
def digest(src: Bytes, p: Int, n: Int, bits: Int) -> Int:
    """A hash of ``bits`` bits of a name's first and last eight bytes; ``codecs.json.kernel_keys`` computes the same."""
    w = ld64(src, p)
    if n < 8:  # noqa: PLR2004 - bytes of a word
        w = w & ((U(1) << U(8 * n)) - U(1))
        z = U(n)
    else:
        z = ld64(src, p + n - 8) * TAIL_FACTOR + U(n)
    return np.int64(((w * FACTOR) ^ z) * TAIL_FACTOR >> U(64 - bits))


@inline
def begins(src: Bytes, p: Int, n: Int, prefix: Bytes) -> bool:
    """Whether the ``n`` bytes at ``p`` begin with ``prefix``."""
    if n < prefix.shape[0]:
        return False
    for j in range(prefix.shape[0]):  # noqa: SIM110 - Numba knows no all()
        if src[U(p + j)] != prefix[U(j)]:
            return False
    return True


@inline
def look_up(
    src: Bytes, p: Int, node: Int, nodes: Longs, words: ULongs, table: Longs, prefix: Bytes, other: Bytes,
) -> tuple[Int, Int, Int]:  # fmt: skip
    """The member of object ``node`` whose name begins at ``p``: ``(position after its quote or -code, node, 1 where it has no escapes)``.

    ``src`` uint8[n] in: the padded payload; ``nodes`` int64[m * NODE], ``words`` uint64[], ``table`` int64[] in; ``prefix`` uint8[] in: of names
    that are RESERVED_NAME in the outermost object; ``other`` uint8[n] scratch. Never allocates, raises, or reads past the padding.
    """
    q = plain_end(src, p)
    if rd(src, q) == QUOTE:
        t = find(src, p, q - p, node, nodes, words, table)
        if t < 0 and node == 0 and begins(src, p, q - p, prefix):
            t = RESERVED_NAME
        return q + 1, t, 1
    after, q = copy_string(src, p, other, ZERO)
    if after < 0:
        return after, UNKNOWN, 0
    st64(other, q, U(QUOTE))
    st64(other, q + 8, U(0))
    t = find(other, ZERO, q, node, nodes, words, table)
    if t < 0 and node == 0 and begins(other, ZERO, q, prefix):
        t = RESERVED_NAME
    return after, t, 0
