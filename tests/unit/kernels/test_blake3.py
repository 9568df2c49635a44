"""BLAKE3 by the kernel: equal to the reference implementation for every length, alone and among neighbours of other lengths."""

from __future__ import annotations

from itertools import accumulate

import numpy as np
import pyarrow as pa
import pytest
from blake3 import blake3 as reference
from hypothesis import given, settings
from hypothesis import strategies as st

from thalweg.arrow.record_id_kernel import digests
from thalweg.kernels.jit import disabled

EDGES = [0, 1, 3, 63, 64, 65, 127, 128, 1023, 1024, 1025, 2047, 2048, 2049, 3072, 3073, 4096, 4097, 5000, 5120, 7168, 8192, 8193]
LARGE = [16_384, 16_385, 31_744, 65_537, 102_400, 1_048_577]
INTERPRETED = disabled()
DATA = bytes(i * 7 % 251 for i in range(1_048_577))


def check(messages: list[tuple[bytes, bytes | None]]) -> None:
    """Digests of ``head + payload`` equal the reference's."""
    heads = [head for head, _ in messages]
    offs = np.array([0, *accumulate(map(len, heads))], np.int32)
    found = digests(np.frombuffer(b"".join(heads), np.uint8), offs, pa.array([p for _, p in messages], pa.binary()))

    found.validate(full=True)
    assert found.to_pylist() == [reference(head + (payload or b"")).digest(length=16) for head, payload in messages]


@pytest.mark.parametrize("size", EDGES)
def test_every_edge_of_blocks_chunks_and_trees(size: int) -> None:
    """Blocks are 64 bytes, chunks 1,024; 1, 2, 3, 4, 5, 7 and 8 chunks make trees of every form; the split of head and payload makes no difference."""
    check([(b"", DATA[:size])])
    check([(DATA[: size // 3], DATA[size // 3 : size])])
    check([(DATA[:size], b"")])


@pytest.mark.skipif(INTERPRETED, reason="a megabyte takes minutes without the compiler; the edges above run")
@pytest.mark.parametrize("size", LARGE)
def test_large_messages(size: int) -> None:
    """Many levels of the tree."""
    check([(b"head", DATA[:size]), (b"", b"x"), (DATA[:2000], DATA[:size])])


@pytest.mark.skipif(INTERPRETED, reason="five thousand messages take minutes without the compiler; the edges above run")
def test_every_length_up_to_5000() -> None:
    """All of them in one batch, so that lanes are handed over at every moment."""
    check([(b"", DATA[n : 2 * n]) for n in range(5001)])


@settings(deadline=None, max_examples=2 if INTERPRETED else 200)
@given(st.lists(st.tuples(st.binary(max_size=150), st.none() | st.binary(max_size=90) | st.integers(0, 5000).map(lambda n: DATA[:n])), max_size=25))
def test_batches_of_any_lengths(messages: list[tuple[bytes, bytes | None]]) -> None:
    """Lanes do not touch each other; a NULL payload has no bytes."""
    check(messages)


def test_slices_and_nulls_with_bytes_behind_them() -> None:
    """A slice begins in the middle of its buffers; bytes under a NULL are nobody's."""
    data = pa.py_buffer(b"aaabbbccc")
    whole = pa.Array.from_buffers(pa.binary(), 3, [pa.py_buffer(b"\x05"), pa.py_buffer(np.array([0, 3, 6, 9], np.int32)), data])
    found = digests(np.zeros(0, np.uint8), np.zeros(3, np.int32), whole.slice(1))

    assert found.to_pylist() == [reference(b"").digest(length=16), reference(b"ccc").digest(length=16)]
