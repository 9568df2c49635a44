
"""What a record id is made of before the payload's bytes: cluster, topic, partition, position and the payload's length.

Each part is one tag byte (0: NULL, 1: present) and, for a present one, its length as eight bytes and its bytes.
"""

from __future__ import annotations

import numpy as np

from thalweg.kernels.jit import inline, kernel
from thalweg.kernels.memory import Bytes, Int, Longs, U, Words, copy, st64

FIXED = 9 + 17 + 17 + 9
"""Most bytes of a head without the cluster's part and the bytes of topic and message id."""
SPARE = 8
"""Bytes after the last head: copies write a word past their end."""


@kernel
def heads(
    prefix: Bytes, topic: Bytes, topic_offs: Words, topic_present: Bytes, parts: Words, parts_present: Bytes, places: Longs, places_present: Bytes,
    message: Bytes, message_offs: Words, message_present: Bytes, offs: Words, present: Bytes, out: Bytes, out_offs: Words,
) -> None:  # fmt: skip
    """Writes the head of every record to ``out``.

    In: ``prefix`` uint8[], the cluster's part; ``topic`` and ``message`` uint8[] with int32[n + 1] offsets; ``parts`` int32[n], ``places``
    int64[n] (offsets); ``offs`` int32[n + 1] of the payloads. Each ``present`` is uint8[n], empty when all are. ``out`` uint8[] out, room
    for all heads and :data:`SPARE`; ``out_offs`` int32[n + 1] out. Never allocates, raises, or reads past the ends.
    """
    d = np.int64(0)
    out_offs[U(0)] = np.int32(0)
    for i in range(np.int64(len(offs)) - 1):
        n = np.int64(len(prefix))
        copy(prefix, np.int64(0), n, n, out, d)
        d = text(np.int64(i), topic, topic_offs, topic_present, out, d + n)
        d = number(np.int64(parts[U(i)]), out, d) if here(parts_present, i) else nothing(out, d)
        if here(places_present, i):
            d = number(np.int64(places[U(i)]), out, d)
        else:  # what identifies a record where there are no offsets
            d = text(np.int64(i), message, message_offs, message_present, out, d)
        d = tagged(np.int64(offs[U(i + 1)]) - np.int64(offs[U(i)]), out, d) if here(present, i) else nothing(out, d)
        out_offs[U(i + 1)] = np.int32(d)


@inline
def here(present: Bytes, i: Int) -> bool:
    """Whether slot ``i`` is not NULL."""
    return len(present) == 0 or present[U(i)] != 0


@inline
def nothing(out: Bytes, d: Int) -> Int:
    """The part of a NULL; returns the position after it, as all of these do."""
    out[U(d)] = np.uint8(0)
    return d + 1


@inline
def tagged(n: Int, out: Bytes, d: Int) -> Int:
    """Tag and length of a part of ``n`` bytes."""
    out[U(d)] = np.uint8(1)
    st64(out, d + 1, U(n))
    return d + 9


@inline
def number(value: Int, out: Bytes, d: Int) -> Int:
    """The part of a whole number."""
    d = tagged(np.int64(8), out, d)
    st64(out, d, U(value))
    return d + 8


@inline
def text(i: Int, src: Bytes, offs: Words, present: Bytes, out: Bytes, d: Int) -> Int:
    """The part of slot ``i`` of a column of bytes."""
    if not here(present, i):
        return nothing(out, d)
    p = np.int64(offs[U(i)])
    n = np.int64(offs[U(i + 1)]) - p
    d = tagged(n, out, d)
    copy(src, p, n, np.int64(len(src)), out, d)
    return d + n
