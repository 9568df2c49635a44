"""The longest payloads are left out, and only those, where memory lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from thalweg.arrow.room import in_room

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    import numpy.typing as npt


def limited(most: int, calls: list[int]) -> Callable[[pa.BinaryArray, npt.NDArray[np.intp]], list[bytes]]:
    """A decoder that has room for payloads of ``most`` bytes."""

    def decode(some: pa.BinaryArray, rows: npt.NDArray[np.intp]) -> list[bytes]:
        assert len(some) == len(rows)
        calls.append(len(rows))
        found: list[bytes] = some.to_pylist()
        if max(map(len, found), default=0) > most:
            raise MemoryError
        return found

    return decode


@pytest.mark.parametrize(
    ("sizes", "most", "kept"),
    [
        ([3, 4, 5], 10, [0, 1, 2]), ([3, 4_000_000, 5], 10, [0, 2]), ([3, 100, 4_000, 5, 7], 10, [0, 3, 4]), ([], 10, []), ([0, 4, 0], 0, [0, 2]),
        ([5, 5], 4, None), ([9, 9, 20, 9], 9, [0, 1, 3]),
    ],
)  # fmt: skip
def test_what_is_kept(sizes: Sequence[int], most: int, kept: Sequence[int] | None) -> None:
    """Every payload for which there is room, at most half as long as one for which there is none; a few attempts are enough."""
    calls: list[int] = []
    payloads = pa.array([b"", *(bytes([65 + i]) * size for i, size in enumerate(sizes))], pa.binary()).slice(1)
    found = in_room(payloads, limited(most, calls))

    assert len(calls) <= 4
    if kept is None:
        assert found is None
    else:
        assert found is not None
        assert found[1].tolist() == kept
        assert found[0] == [payloads[i].as_py() for i in kept]


def test_other_errors_pass() -> None:
    """Only the lack of memory is an answer."""

    def broken(_some: pa.BinaryArray, _rows: npt.NDArray[np.intp]) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        in_room(pa.array([b"x"], pa.binary()), broken)
