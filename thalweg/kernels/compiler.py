# mypy: disallow-untyped-calls=False
# Numba has hardly any types.
"""Makes machine code of kernels, by Numba; only processes that compile import this.

``python -m thalweg.kernels.compiler MODULE...`` puts the kernels of these modules into the cache; with ``--give MODULE:FUNCTION`` the
machine code of one goes to standard output.
"""

from __future__ import annotations

import functools
import gc
import importlib
import os
import sys
from contextlib import contextmanager
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final

import numba
from numba import types
from numba.core.options import DefaultOptions
from numba.np.numpy_support import from_dtype

from thalweg.kernels import jit
from thalweg.kernels.calling import Signature
from thalweg.kernels.child import GIVE
from thalweg.kernels.intrinsics import CODES
from thalweg.kernels.objects import MachineCode
from thalweg.kernels.passes import Part, Whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_OPTIONS: Final[dict[str, Any]] = {"nogil": True, "error_model": "numpy", "no_cpython_wrapper": True} | (
    {"_nrt": False} if hasattr(DefaultOptions, "_nrt") else {}
)
_WHOLE: Final = _OPTIONS | {"pipeline_class": Whole}
_PART: Final = _OPTIONS | {"pipeline_class": Part, "no_cfunc_wrapper": True}
_ROLES: Final = {"inline": _PART | {"forceinline": True}, "merged": _PART | {"inline": "always"}, "apart": _PART}
_RESULTS: Final = (types.int64, types.none)


def compiled(function: Callable[..., Any]) -> MachineCode:
    """The machine code of a kernel. Raises what Numba raises, and TypeError for a result that is no int64."""
    signature = Signature.of(function)
    arguments = tuple(types.int64 if kind is None else types.Array(from_dtype(kind[0]), kind[1], "C") for kind in signature.kinds)
    dispatcher = numba.njit(**_WHOLE)(_read_by_numba(function))
    dispatcher.compile(arguments)
    (made,) = dispatcher.overloads.values()
    if made.signature.return_type is not _RESULTS[not signature.is_number]:
        raise TypeError(f"{function.__qualname__} gives {made.signature.return_type}")
    if needed := _needed(made.library):
        raise TypeError(f"{function.__qualname__} needs {', '.join(needed)}, which only this process has")
    return MachineCode(made.fndesc.llvm_cfunc_wrapper_name, made.library._get_compiled_object())  # noqa: SLF001 - as Numba's own cache does


def _needed(library: Any) -> list[str]:  # noqa: ANN401 - Numba's objects have no types
    """What machine code would look for in another process, in vain: names without a definition, and addresses in this one."""
    module = library._final_module  # noqa: SLF001 - as Numba's own cache does
    names = [value.name for value in (*module.functions, *module.global_variables) if value.is_declaration]
    return [*(name for name in names if not name.startswith("llvm.")), *library._dynamic_globals]  # noqa: SLF001 - as above


@contextmanager
def compiling() -> Iterator[None]:
    """Inside, kernels that are not in the cache are compiled by this process, and an OSError says that the cache takes nothing."""
    token = jit.here.set(compiled)
    try:
        yield
    finally:
        jit.here.reset(token)


def fill(modules: Sequence[str]) -> None:
    """Put the kernels of these modules into the cache, and load them. Raises OSError."""
    with compiling():
        for kernel in (found for module in modules for found in jit.kernels_of(importlib.import_module(module))):
            kernel.load()


def main(arguments: Sequence[str]) -> None:
    """The command of a child process."""
    gc.disable()  # nearly all that a compiler makes stays: looking through it again and again is a tenth of the time
    if arguments[0] != GIVE:
        fill(arguments)
        return
    with os.fdopen(os.dup(1), "wb") as out:
        os.dup2(2, 1)  # whatever a module says when it is imported
        module, _, name = arguments[1].partition(":")
        out.write(compiled(functools.reduce(getattr, name.split("."), importlib.import_module(module)).function).to_bytes())


def _read_by_numba(function: Callable[..., Any]) -> Callable[..., Any]:
    """A copy that knows the functions it calls as what Numba takes them for."""
    code, known = function.__code__, function.__globals__
    seen = {name: _for_numba(known[name]) for name in code.co_names if name in known}
    copy = FunctionType(code, {**seen, "__builtins__": known["__builtins__"], "__name__": function.__module__}, function.__name__)
    copy.__module__, copy.__qualname__ = function.__module__, function.__qualname__
    return copy


def _for_numba(value: Any) -> Any:  # noqa: ANN401 - whatever a module has
    """A part of kernels as Numba takes it; anything else as it is."""
    if isinstance(value, jit.Kernel):
        return _part(value.function, ("apart",))
    role = jit.role(value) if isinstance(value, FunctionType) else None
    return value if role is None else _part(value, role)


@functools.cache
def _part(function: Callable[..., Any], role: tuple[str, ...]) -> Any:  # noqa: ANN401 - Numba's objects have no types
    """A function that kernels call."""
    name, *details = role
    return numba.njit(**_ROLES[name])(_read_by_numba(function)) if name in _ROLES else CODES[name](*details)


if __name__ == "__main__":
    main(sys.argv[1:])
