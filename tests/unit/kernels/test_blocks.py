"""Memory that is used again."""

from __future__ import annotations

import gc
import threading
from random import Random

import numpy as np
import pyarrow as pa

from thalweg.kernels.blocks import Blocks, blocks

MIB = 1 << 20


def test_a_block_comes_back_with_its_last_view() -> None:
    """Slices, other types and Arrow buffers over it keep a block away from the next; then its memory is used again."""
    made = Blocks()
    block = made.take(3 * MIB - 5)
    address = block.ctypes.data
    column = pa.Array.from_buffers(pa.int64(), 10, [None, pa.py_buffer(block[64:].view(np.uint8))])
    del block
    gc.collect()

    assert made.idle_bytes() == 0
    assert made.take(3 * MIB).ctypes.data != address
    del column
    gc.collect()
    assert made.idle_bytes() == 6 * MIB
    assert len(made.take(2 * MIB + 1)) == 2 * MIB + 1


def test_what_fits_badly_is_left_alone() -> None:
    """A block twice as large as need be stays for somebody else, a smaller one is of no use."""
    made = Blocks()
    del_me = made.take(10 * MIB)
    address = del_me.ctypes.data
    del del_me

    small, large = made.take(2 * MIB), made.take(11 * MIB)
    assert made.idle_bytes() == 10 * MIB
    assert address not in {small.ctypes.data, large.ctypes.data}
    assert made.take(9 * MIB).ctypes.data == address


def test_little_lies_idle() -> None:
    """Beyond the bound the oldest go, and blocks of little use are never kept."""
    made = Blocks(5 * MIB)
    held = [made.take(2 * MIB) for _ in range(4)]
    tiny = made.take(100)
    del held, tiny

    assert made.idle_bytes() == 4 * MIB
    assert blocks() is blocks()


def test_threads_take_and_let_go_side_by_side() -> None:
    """No two hold the same memory at once."""
    made, wrong = Blocks(), []

    def work(mark: int) -> None:
        for _ in range(200):
            block = made.take(MIB)
            block[:64] = mark
            if (block[:64] != mark).any():
                wrong.append(mark)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert made.idle_bytes() <= 48 * MIB


def test_the_collector_may_run_at_any_moment() -> None:
    """Blocks in cycles come back in the middle of a take, more of them than may lie idle: each taken block is as large as was asked for."""

    class Cycle:
        """Holds a block until the collector comes."""

        def __init__(self, block: object) -> None:
            """Of itself."""
            self.me, self.block = self, block

    made, dice, before = Blocks(8 * MIB), Random(1), gc.get_threshold()
    try:
        for _ in range(2_000):
            gc.disable()
            held = [made.take(n * MIB) for n in (1, 2, 3, 1)]
            for _ in range(dice.randint(1, 4)):
                Cycle(made.take(dice.randint(1, 4) * MIB))
            del held
            gc.set_threshold(dice.randint(1, 30))
            gc.enable()
            wanted = dice.randint(1, 4) * MIB
            assert made.take(wanted).nbytes == wanted
    finally:
        gc.enable()
        gc.set_threshold(*before)
    assert made.idle_bytes() <= 8 * MIB
    made.take(1)
