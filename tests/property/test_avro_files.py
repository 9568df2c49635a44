"""Container files with any damage: reading ends, nothing is lost in silence, and every restart sees what the first run saw."""

from __future__ import annotations

import os
import tempfile
from itertools import pairwise
from pathlib import Path
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracle.avro_schemas import mutated
from tests.oracle.containers import ORDER, header, order, orders, write
from thalweg.arrow.container import CODECS
from thalweg.codecs.avro.split import Blocks
from thalweg.sources.avro.walk import Piece, Walk


def walked(path: Path, start: int) -> list[Piece]:
    """Every piece from a record on."""
    walk, out = Walk(path, Blocks(), 1 << 20), []
    while (piece := walk.next(start)) is not None:
        out.append(piece)
        start = piece.end
    walk.close()
    return out


def numbered(pieces: list[Piece]) -> dict[int, tuple[bytes, str | None]]:
    """Every record by its number, with its fault."""
    out = {}
    for piece in pieces:
        for i in range(piece.rows):
            fault = piece.fault if i == piece.rows - 1 else None
            out[piece.start + i] = (bytes(piece.data[piece.offsets[i] : piece.offsets[i + 1]]), fault)
    return out


@settings(max_examples=int(os.environ.get("KERNEL_EXAMPLES", "120")), deadline=None)
@given(st.integers(0, 2**48), st.sampled_from(CODECS))
def test_damaged_files(seed: int, codec: str) -> None:
    """Pieces follow one another, blocks before the damage are whole, and a run from any record is a suffix of the whole one (AV-26, BAT-14, law 2)."""
    random = Random(seed)
    blocks, number = [], 0
    for _ in range(random.randint(1, 6)):
        count = random.choice([0, 1, 3, 40])
        blocks.append(orders(*range(number, number + count), codec=codec))
        number += count
    head = header(ORDER, codec)
    touched = random.randrange(len(blocks))
    damaged = [*blocks[:touched], mutated(random, blocks[touched], random.choice(blocks)), *blocks[touched + 1 :]]
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / "f.avro", head, *damaged)
        pieces = walked(path, 0)
        whole = numbered(pieces)

        assert all(a.end <= b.start for a, b in pairwise(pieces))
        good = [data for data, fault in whole.values() if fault is None]
        before = numbered(walked(write(Path(folder) / "g.avro", head, *blocks[:touched]), 0))
        assert [data for data, _ in before.values()] == good[: len(before)]
        if damaged[touched] not in {blocks[touched], b""} and set(good) != {order(n) for n in range(number)}:
            lost = number - len(good)
            assert lost <= 0 or any(fault for _, fault in whole.values()), "records went away without a word"
        for start in {0, 1, random.randint(0, number + 2), *(p.start for p in pieces)}:
            assert numbered(walked(path, start)) == {n: found for n, found in whole.items() if n >= start}
