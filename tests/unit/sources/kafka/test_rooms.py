"""Rooms for payloads, and columns joined over them."""

from __future__ import annotations

import ctypes

import numpy as np
import pyarrow as pa
import pytest

from thalweg.sources.kafka.rooms import Rooms, joined

LARGE = b"x" * 100_000


def made(rooms: Rooms, *values: bytes | None) -> pa.Array:
    """A column whose bytes lie where the rooms say."""
    data = b"".join(v or b"" for v in values)
    place = rooms.cut(len(data))
    ctypes.memmove(place.address, data, len(data))
    bits, ends, _ = pa.array(values, pa.binary()).buffers()
    return pa.Array.from_buffers(pa.binary(), len(values), [bits, ends, place])


def test_payloads_of_an_epoch_are_not_copied_again() -> None:
    """The joined column lies where its parts lay, also where they are slices that meet."""
    rooms = Rooms()
    first, second = made(rooms, b"a", b"", b"bb"), made(rooms, b"ccc", b"d")
    whole = joined([first, second])
    part = joined([first.slice(1, 2), second.slice(0, 1)])

    assert whole.to_pylist() == [b"a", b"", b"bb", b"ccc", b"d"]
    assert part.to_pylist() == [b"", b"bb", b"ccc"]
    assert whole.buffers()[2].address == first.buffers()[2].address
    assert part.buffers()[2].address == first.buffers()[2].address + 1
    whole.validate(full=True)
    part.validate(full=True)


@pytest.mark.parametrize("values", [(b"a", None), (b"a", b"bb")])
def test_all_else_is_copied(values: tuple[bytes | None, ...]) -> None:
    """NULLs, gaps between slices, another room, memory of others, and another order."""
    rooms = Rooms()
    first, second, other = made(rooms, *values), made(rooms, b"x", b"y"), made(Rooms(), b"z")
    plain = pa.array([b"p"], pa.binary())

    for parts in ([first, second.slice(1)], [second, first], [first, other], [first, plain], [plain, first], [first.slice(0, 1), second]):
        found = joined(parts)
        assert found.to_pylist() == [value for part in parts for value in part.to_pylist()]
        found.validate(full=True)


def test_a_room_is_as_large_as_the_epochs_foretell() -> None:
    """The first epochs need several rooms, the next of that size one; values outlive the rooms' next epochs."""
    rooms = Rooms()
    rooms.begin()
    kept = [made(rooms, LARGE), made(rooms, LARGE)]
    rooms.begin()
    fits = joined([made(rooms, LARGE), made(rooms, LARGE)])
    larger = [made(rooms, LARGE) for _ in range(4)]
    rooms.begin()

    assert joined(kept).to_pylist() == [LARGE, LARGE]
    assert fits.buffers()[2].parent.size >= 2 * len(LARGE)
    assert joined(larger).to_pylist() == [LARGE] * 4
    assert made(rooms, b"").to_pylist() == [b""]


def test_what_waits_is_moved_in_front_of_what_comes() -> None:
    """Records left over from one epoch lie end to end with those of the next, NULLs and slices too."""
    rooms = Rooms()
    left = [made(rooms, b"old", b"kept").slice(1), pa.array([], pa.binary()), pa.array([None, b"n"], pa.binary())]
    rooms.begin()
    moved = [rooms.moved(part) for part in left]
    fresh = made(rooms, b"new")

    assert [part.to_pylist() for part in moved] == [[b"kept"], [], [None, b"n"]]
    assert joined([moved[0], moved[1]]).to_pylist() == [b"kept"]
    assert fresh.buffers()[2].address == moved[2].buffers()[2].address + 1
    moved[2].validate(full=True)


def test_more_than_offsets_can_count_is_refused_aloud() -> None:
    """Two gibibytes in one room are an error, as for any column of Arrow, and never a wrong offset. The memory is never touched."""
    half = 1 << 29
    room = pa.py_buffer(np.empty(5 * half, np.uint8))
    parts = [
        pa.Array.from_buffers(pa.binary(), rows, [None, pa.py_buffer(np.arange(rows + 1, dtype=np.int32) * half), room.slice(at * half, rows * half)])
        for at, rows in ((0, 2), (2, 1), (3, 1))
    ]

    assert joined(parts[:2]).buffers()[2].size == 3 * half
    with pytest.raises(pa.ArrowInvalid, match="offset overflow"):
        joined(parts)
