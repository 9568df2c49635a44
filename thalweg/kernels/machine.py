"""Loads, calls and copies at addresses, for loops that are compiled. These are the twins in Python; the code is in ``kernels/intrinsics.py``.

Nothing here allocates, takes the GIL or raises.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from thalweg.kernels.jit import instruction

if TYPE_CHECKING:
    from collections.abc import Callable

Int: TypeAlias = Any
"""A machine word: uint64 or int64 inside the loops, int where they are tried in Python."""
Addresses = npt.NDArray[np.uint64]
U = np.uint64

_C: dict[str, Any] = {"void": None, "int32": ctypes.c_int32, "int64": ctypes.c_int64}


def caller(arity: int, result: str) -> Callable[..., Int]:
    """Calls a C function at an address, with words as arguments; ``result`` is void, int32 or int64."""
    prototype = ctypes.CFUNCTYPE(_C[result], *[ctypes.c_void_p] * arity)

    @instruction("call", str(arity), result)
    def call(function: Int, *arguments: Int) -> Int:
        return prototype(int(function))(*[int(a) for a in arguments])

    return call


@instruction("load", "uint64")
def load64(address: Int) -> Int:
    """Eight bytes."""
    return np.uint64(ctypes.c_uint64.from_address(int(address)).value)


@instruction("load", "int32")
def load32(address: Int) -> Int:
    """Four bytes, signed."""
    return np.int32(ctypes.c_int32.from_address(int(address)).value)


@instruction("load", "uint8")
def load8(address: Int) -> Int:
    """One byte."""
    return np.uint8(ctypes.c_uint8.from_address(int(address)).value)


@instruction("copy")
def copy_bytes(to: Int, source: Int, size: Int) -> None:
    """So many bytes from address to address."""
    ctypes.memmove(int(to), int(source), int(size))
