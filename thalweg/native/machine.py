"""Loads, calls and copies at addresses, for loops that are compiled; importing this module imports Numba.

Each has a twin in Python for ``NUMBA_DISABLE_JIT=1``. Nothing here allocates, takes the GIL or raises.
"""

from __future__ import annotations

import ctypes
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.core import config as _numba_config
from numba.extending import intrinsic

from thalweg.kernels.jit import cache_folder, kernel

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")
Int: TypeAlias = Any
"""A machine word: uint64 or int64 inside the loops, int where they are tried in Python."""
Addresses = npt.NDArray[np.uint64]

_CONFIG: Any = _numba_config
_JIT: bool = not _CONFIG.DISABLE_JIT
WORD: Final = ir.IntType(64)
HALF: Final = ir.IntType(32)
BYTE: Final = ir.IntType(8)
U = np.uint64


class Loops:
    """The compiled loops of one module: the kernels' cache knows the sources of its own folder only, so these are named by theirs."""

    def __init__(self, module: str) -> None:
        """``module`` is the ``__file__`` of the module that has the loops."""
        sources = Path(module).read_bytes() + Path(__file__).read_bytes()
        self._digest = hashlib.sha256(sources).hexdigest()[:12]
        self._names: list[str] = []

    def __call__(self, function: F) -> F:
        """Make a kernel of a function."""
        self._names.append(function.__name__)
        function.__qualname__ = f"{function.__name__}_{self._digest}"
        return kernel(function)

    def cached(self) -> bool:
        """Whether every loop is in the cache already."""
        names = [path.name for path in cache_folder().glob(f"*_{self._digest}-*.nbi")]
        return not _JIT or all(any(f".{loop}_" in name for name in names) for loop in self._names)


def loader(bits: ir.IntType, result: Any, twin: Any) -> Any:  # noqa: ANN401 - Numba has no types
    """Reads a number at an address."""
    if not _JIT:
        return lambda address: result(twin.from_address(int(address)).value)

    def load(_context: Any, _address: Any) -> Any:  # noqa: ANN401 - Numba has no types
        def code(_c: Any, builder: Any, _s: Any, args: Any) -> Any:  # noqa: ANN401 - Numba has no types
            return builder.load(builder.inttoptr(args[0], bits.as_pointer()), align=1)

        return result(types.uint64), code

    return intrinsic(load)


def caller(arity: int, bits: ir.IntType | None, result: Any, twin: Any) -> Any:  # noqa: ANN401 - Numba has no types
    """Calls a C function at an address, with words as arguments."""
    if not _JIT:
        prototype = ctypes.CFUNCTYPE(twin, *[ctypes.c_void_p] * arity)
        return lambda function, *arguments: prototype(int(function))(*[int(a) for a in arguments])
    kind = ir.FunctionType(bits or ir.VoidType(), [WORD] * arity)

    def emit(context: Any, builder: Any, args: Any) -> Any:  # noqa: ANN401 - Numba has no types
        found = builder.call(builder.inttoptr(args[0], kind.as_pointer()), args[1:])
        return context.get_dummy_value() if bits is None else found

    def signature() -> Any:  # noqa: ANN401 - Numba has no types
        return result(*[types.uint64] * (arity + 1)), lambda c, b, _s, a: emit(c, b, a)

    if arity == 1:
        return intrinsic(lambda _context, _f, _a: signature())
    if arity == 2:  # noqa: PLR2004 - two arguments
        return intrinsic(lambda _context, _f, _a, _b: signature())
    return intrinsic(lambda _context, _f, _a, _b, _c, _d, _e: signature())


def copier() -> Any:  # noqa: ANN401 - Numba has no types
    """Copies bytes from address to address."""
    if not _JIT:
        return lambda to, source, size: ctypes.memmove(int(to), int(source), int(size))

    def copy(_context: Any, _to: Any, _source: Any, _size: Any) -> Any:  # noqa: ANN401 - Numba has no types
        def code(context: Any, builder: Any, _s: Any, args: Any) -> Any:  # noqa: ANN401 - Numba has no types
            pointer = BYTE.as_pointer()
            function = builder.module.declare_intrinsic("llvm.memcpy", [pointer, pointer, WORD])
            to, source = builder.inttoptr(args[0], pointer), builder.inttoptr(args[1], pointer)
            builder.call(function, [to, source, args[2], ir.Constant(ir.IntType(1), 0)])
            return context.get_dummy_value()

        return types.void(types.uint64, types.uint64, types.uint64), code

    return intrinsic(copy)


load64 = loader(WORD, types.uint64 if _JIT else np.uint64, ctypes.c_uint64)
load32 = loader(HALF, types.int32 if _JIT else np.int32, ctypes.c_int32)
load8 = loader(BYTE, types.uint8 if _JIT else np.uint8, ctypes.c_uint8)
copy_bytes = copier()
