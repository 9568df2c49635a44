"""Calls of machine code: the right arrays only."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from thalweg.kernels import calling
from thalweg.kernels.calling import Signature
from thalweg.kernels.jit import Kernel, disabled, kernel
from thalweg.kernels.memory import Bytes, Int, Longs, Words

Table = np.ndarray[tuple[int, int], np.dtype[np.int64]]
compiled = pytest.mark.skipif(disabled(), reason="the compiler is switched off")


@kernel
def total(src: Bytes, table: Table, row: Int, add: Int, out: Words) -> Int:
    """Reads from each argument, and writes the rows."""
    out[0] = table.shape[0]
    return table[row, 1] + src[0] + add + src.shape[0]


@kernel
def nothing(values: Longs) -> None:
    """Gives nothing, and reads what may not be there."""
    values[0] = values[np.uint64(values[0])]


def arrays() -> list[Any]:
    """Arguments of ``total``."""
    return [np.array([200, 1, 1], np.uint8), np.arange(6).reshape(3, 2), 2, -7, np.zeros(2, np.int32)]


def test_annotations_say_what_a_kernel_takes() -> None:
    """Types of items, dimensions, and whether a number comes back."""
    assert Signature.of(getattr(total, "__wrapped__")) == Signature(  # noqa: B009 - a decorator's attribute
        ((np.dtype(np.uint8), 1), (np.dtype(np.int64), 2), None, None, (np.dtype(np.int32), 1)), is_number=True
    )
    assert Signature.of(getattr(nothing, "__wrapped__")) == Signature(((np.dtype(np.int64), 1),), is_number=False)  # noqa: B009 - as above


def test_arrays_and_numbers_arrive() -> None:
    """Also read-only arrays, empty ones and NumPy's numbers."""
    given = arrays()
    given[0].flags.writeable = False

    assert total(*given) == 5 + 200 - 7 + 3
    assert given[4].tolist() == [3, 0]
    assert total(given[0], given[1], np.int64(1), np.int64(2), given[4]) == 3 + 200 + 2 + 3
    assert nothing(np.zeros(1, np.int64)) is None


@compiled
@pytest.mark.parametrize(
    ("place", "wrong"),
    [
        (0, np.zeros(3, np.int8)),
        (0, b"abc"),
        (0, np.zeros(6, np.uint8)[::2]),
        (0, np.zeros((3, 1), np.uint8)),
        (1, np.zeros((3, 2), np.int64, order="F")),
        (1, np.zeros((3, 2), ">i8")),
        (4, np.frombuffer(bytes(9), np.uint8)[1:].view(np.int32)),
        (4, np.zeros(2, np.int32).view(np.recarray)),
        (2, 1.5),
        (2, 1 << 63),
        (3, "1"),
    ],
)
def test_other_arguments_are_refused(place: int, wrong: object) -> None:
    """Items, dimensions, order, alignment, and numbers that are no word; nothing is run."""
    given = arrays()
    given[place] = wrong

    with pytest.raises(TypeError, match="total"):
        total(*given)


@compiled
def test_a_mistake_is_named() -> None:
    """The first wrong argument, with what it should be; or how many there should be."""
    given = arrays()
    given[1] = given[1].T

    with pytest.raises(TypeError, match="argument 1 must be an array of int64 of 2 dimensions in C's order, and is int64 of 2 in another order"):
        total(*given)
    with pytest.raises(TypeError, match="takes 5 arguments, not 4"):
        total(*given[:4])


@pytest.mark.parametrize("array", [np.zeros(3), np.zeros((2, 2), np.int8), np.frombuffer(b"abcd", np.uint8), np.zeros(0, np.int32), np.arange(9)[4:]])
def test_addresses_are_those_that_numpy_says(array: npt.NDArray[Any]) -> None:
    """The fast way is the one that is taken."""
    assert calling.address is calling._at_head
    assert calling._at_head(array) == calling._asked(array)


def test_where_arrays_are_laid_out_otherwise_numpy_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A probe tells."""
    monkeypatch.setattr(calling, "_at_head", lambda _: 0)

    assert calling._address_of(np.arange(3)) is calling._asked


@compiled
def test_checked_indexes_raise(tmp_path: Path) -> None:
    """With NUMBA_BOUNDSCHECK, in this process's children too."""
    root = Path(calling.__file__).parents[2]
    (tmp_path / "probed.py").write_text(
        "from thalweg.kernels.jit import kernel\nfrom thalweg.kernels.memory import Int, Longs\n\n"
        "@kernel\ndef probe(src: Longs, i: Int) -> Int:\n    return src[i]\n"
    )
    program = "import numpy as np; from probed import probe; print(probe(np.arange(3), 2)); probe(np.arange(3), 3)"
    env = os.environ | {"NUMBA_BOUNDSCHECK": "1", "THALWEG_CACHE": str(tmp_path), "PYTHONPATH": os.pathsep.join([str(root), str(tmp_path)])}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=False)

    assert done.stdout == "2\n"
    assert done.stderr.splitlines()[-1] == "IndexError: probed:probe: an index is out of bounds"


@compiled
def test_a_kernel_looks_like_its_function() -> None:
    """Name and docstring stay."""
    assert isinstance(total, Kernel)
    assert (total.__name__, total.name) == ("total", f"{__name__}:total")
    assert (total.__doc__ or "").startswith("Reads from each")
