"""What kernels do that Numba has no words for, in LLVM's language: counting zeros, wide products, loads, copies and calls at addresses.

Each is the code of a function that is marked as an ``instruction``; its twin in Python says what it does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from llvmlite import ir
from numba import types
from numba.core import config
from numba.extending import intrinsic

from thalweg.kernels import emit, llvm

if TYPE_CHECKING:
    from collections.abc import Callable

_BITS: Final = 64
_WORD: Final = ir.IntType(_BITS)
_POINTER: Final = ir.IntType(8).as_pointer()
_FALSE: Final = ir.Constant(ir.IntType(1), 0)


def ctz() -> Any:  # noqa: ANN401 - Numba's objects have no types
    """Zero bits below the lowest set bit."""

    def typed(_typing: Any, _word: Any) -> Any:  # noqa: ANN401 - as above
        return types.int64(types.uint64), lambda _c, builder, _s, args: builder.cttz(args[0], _FALSE)

    return intrinsic(typed)


def clz() -> Any:  # noqa: ANN401 - as above
    """Zero bits above the highest set bit."""

    def typed(_typing: Any, _word: Any) -> Any:  # noqa: ANN401 - as above
        return types.int64(types.uint64), lambda _c, builder, _s, args: builder.ctlz(args[0], _FALSE)

    return intrinsic(typed)


def mulhi() -> Any:  # noqa: ANN401 - as above
    """The high half of a product."""

    def code(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:  # noqa: ANN401 - as above
        wide = ir.IntType(2 * _BITS)
        product = builder.mul(builder.zext(args[0], wide), builder.zext(args[1], wide))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, _BITS)), _WORD)

    def typed(_typing: Any, _x: Any, _y: Any) -> Any:  # noqa: ANN401 - as above
        return types.uint64(types.uint64, types.uint64), code

    return intrinsic(typed)


def sevens() -> Any:  # noqa: ANN401 - as above
    """The lower seven bits of each byte, end to end: one instruction where it is quick, else pairs, fours and all eight are joined."""

    def code(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:  # noqa: ANN401 - as above
        return emit.sevens(builder, args[0], gathers=_gathers())

    def typed(_typing: Any, _word: Any) -> Any:  # noqa: ANN401 - as above
        return types.uint64(types.uint64), code

    return intrinsic(typed)


def _gathers() -> bool:
    """Whether machine code is made for this processor, and it gathers bits quickly."""
    numba: Any = config
    return not (numba.CPU_NAME or numba.CPU_FEATURES) and llvm.gathers()


def load(result: str) -> Any:  # noqa: ANN401 - as above
    """Reads a number at an address."""
    kind = getattr(types, result)

    def code(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:  # noqa: ANN401 - as above
        return builder.load(builder.inttoptr(args[0], ir.IntType(kind.bitwidth).as_pointer()), align=1)

    def typed(_typing: Any, _address: Any) -> Any:  # noqa: ANN401 - as above
        return kind(types.uint64), code

    return intrinsic(typed)


def copy() -> Any:  # noqa: ANN401 - as above
    """Copies bytes from address to address."""

    def code(context: Any, builder: Any, _signature: Any, args: Any) -> Any:  # noqa: ANN401 - as above
        function = builder.module.declare_intrinsic("llvm.memcpy", [_POINTER, _POINTER, _WORD])
        to, source = builder.inttoptr(args[0], _POINTER), builder.inttoptr(args[1], _POINTER)
        builder.call(function, [to, source, args[2], _FALSE])
        return context.get_dummy_value()

    def typed(_typing: Any, _to: Any, _source: Any, _size: Any) -> Any:  # noqa: ANN401 - as above
        return types.void(types.uint64, types.uint64, types.uint64), code

    return intrinsic(typed)


def call(arity: str, result: str) -> Any:  # noqa: ANN401 - as above
    """Calls a C function at an address, with one, two or five words."""
    kind, words = getattr(types, result), int(arity)
    bits = ir.VoidType() if kind is types.void else ir.IntType(kind.bitwidth)
    function = ir.FunctionType(bits, [_WORD] * words).as_pointer()

    def code(context: Any, builder: Any, _signature: Any, args: Any) -> Any:  # noqa: ANN401 - as above
        found = builder.call(builder.inttoptr(args[0], function), args[1:])
        return context.get_dummy_value() if kind is types.void else found

    signature = kind(*[types.uint64] * (words + 1)), code
    typed: dict[int, Callable[..., Any]] = {
        1: lambda _typing, _f, _a: signature,
        2: lambda _typing, _f, _a, _b: signature,
        5: lambda _typing, _f, _a, _b, _c, _d, _e: signature,
    }
    return intrinsic(typed[words])


CODES: Final[dict[str, Callable[..., Any]]] = {"ctz": ctz, "clz": clz, "mulhi": mulhi, "sevens": sevens, "load": load, "copy": copy, "call": call}
"""By the names that ``instruction`` is given."""
