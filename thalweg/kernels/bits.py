"""What processors have an instruction for and NumPy has not: zeros at the ends of a word, the high half of a product."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import config as _numba_config
from numba.extending import intrinsic

from thalweg.kernels.memory import U

if TYPE_CHECKING:
    from thalweg.kernels.memory import Int

_CONFIG: Any = _numba_config
_WORD = 64
_DEFINED_FOR_ZERO = ir.Constant(ir.IntType(1), 0)


def _ctz(word: np.uint64) -> Int:
    """The twin in Python."""
    value = int(word)
    return np.int64((value & -value).bit_length() - 1 if value else _WORD)


def _clz(word: np.uint64) -> Int:
    """The twin in Python."""
    return np.int64(_WORD - int(word).bit_length())


def _mulhi(x: np.uint64, y: np.uint64) -> np.uint64:
    """The twin in Python."""
    return U(int(x) * int(y) >> _WORD)


def _fast_ctz(_typing: Any, _word: Any) -> Any:  # noqa: ANN401 - Numba's objects have no types
    """One instruction."""
    return types.int64(types.uint64), lambda _c, builder, _s, args: builder.cttz(args[0], _DEFINED_FOR_ZERO)


def _fast_clz(_typing: Any, _word: Any) -> Any:  # noqa: ANN401 - as above
    """One instruction."""
    return types.int64(types.uint64), lambda _c, builder, _s, args: builder.ctlz(args[0], _DEFINED_FOR_ZERO)


def _fast_mulhi(_typing: Any, _x: Any, _y: Any) -> Any:  # noqa: ANN401 - as above
    """One instruction."""

    def generate(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:  # noqa: ANN401 - as above
        wide = ir.IntType(2 * _WORD)
        product = builder.mul(builder.zext(args[0], wide), builder.zext(args[1], wide))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, _WORD)), ir.IntType(_WORD))

    return types.uint64(types.uint64, types.uint64), generate


ctz: Any = _ctz if _CONFIG.DISABLE_JIT else intrinsic(_fast_ctz)
"""Zero bits below the lowest set bit; 64 for 0. ``uint64 -> int64``."""
clz: Any = _clz if _CONFIG.DISABLE_JIT else intrinsic(_fast_clz)
"""Zero bits above the highest set bit; 64 for 0. ``uint64 -> int64``."""
mulhi: Any = _mulhi if _CONFIG.DISABLE_JIT else intrinsic(_fast_mulhi)
"""The high 64 bits of the product of two words. ``uint64, uint64 -> uint64``."""
