"""The first bytes of payloads, and payloads without them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from thalweg.arrow.fronts import front, without


@given(st.lists(st.binary(max_size=40), max_size=20), st.integers(0, 3), st.integers(0, 20))
def test_equal_to_slices_of_bytes(payloads: list[bytes], cut: int, skip: int) -> None:
    """Of all that are long enough; the array may be a slice of another."""
    array = pa.array(payloads, pa.binary()).slice(cut)
    given_bytes = payloads[cut:]
    places = front(array)
    rows = np.flatnonzero(places.longer(skip))
    found = without(array, rows, skip)

    found.validate(full=True)
    assert found.to_pylist() == [p[skip:] for p in given_bytes if len(p) >= skip]
    assert [bytes(b) for b in places.bytes_at(rows, 0, skip)] == [p[:skip] for p in given_bytes if len(p) >= skip]


def test_many_payloads_and_no_bytes_left() -> None:
    """Nothing but the prefix leaves empty payloads, not NULLs."""
    array = pa.array([b"12345"] * 100_000, pa.binary())

    assert without(array, np.arange(100_000), 5).equals(pa.array([b""] * 100_000, pa.binary()))
