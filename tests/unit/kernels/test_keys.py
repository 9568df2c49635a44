"""Keys that repeat are found among few and among many; chosen collisions end the search."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from thalweg.kernels.jit import kernel
from thalweg.kernels.keys import repeats as key_repeats
from thalweg.kernels.memory import Bytes, Int, Words


@kernel
def search(h8: Bytes, h32: Words, offs: Int, data: Int, first: Int, end: Int, seen: Words) -> Int:
    """1 where a key repeats."""
    return np.int64(1 if key_repeats(h8, h32, offs, data, first, end, seen) else 0)


def repeats(found: list[bytes]) -> bool:
    """The search over keys in a column whose slots before them hold something else."""
    texts = [b"before", *found]
    h8 = np.frombuffer(bytes(16) + b"".join(texts) + bytes(16), np.uint8).copy()
    h32 = np.concatenate([np.zeros(5), np.cumsum([0, *map(len, texts)])]).astype(np.int32)
    return bool(search(h8, h32, 5, 16, 1, len(texts), np.zeros(4 * len(texts) + 32, np.int32)))


@settings(deadline=None)
@given(st.lists(st.binary(max_size=12), max_size=60))
def test_repeats_are_found(found: list[bytes]) -> None:
    """Equal to the size of a set."""
    assert repeats(found) is (len(set(found)) < len(found))


def test_many_keys_are_told_apart() -> None:
    """Thousands of keys, with and without one that repeats at the end."""
    found = [f"key-{i}".encode() for i in range(5000)]

    assert not repeats(found)
    assert repeats([*found, b"key-0"])


def test_empty_ranges_do_not_repeat() -> None:
    """No key and one key."""
    assert not repeats([])
    assert not repeats([b"x"])
