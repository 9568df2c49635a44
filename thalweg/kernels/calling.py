"""How Python calls machine code: arrays and numbers become words, and nothing is run over an array of another kind.

The words of an array are the address of its data and its lengths; a number is a word itself. An entry is ``int32 entry(int64* words,
int64* result)``, made in ``kernels/compiler.py``; anything but 0 says that an index was out of bounds.
"""

from __future__ import annotations

import ctypes
import struct
from dataclasses import dataclass
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias, get_args, get_type_hints

import numpy as np
from llvmlite import binding

from thalweg.kernels.llvm import target

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from thalweg.kernels.objects import MachineCode

Kind: TypeAlias = "tuple[np.dtype[Any], int] | None"
"""Of an array, which is in C's order, the type of its items and its dimensions; None is a number, int64."""
_PLAIN: Final = 0x101
"""NumPy's flags of an array that is in C's order and aligned."""
_HEAD: Final = object.__basicsize__
_WORD: Final = ctypes.c_ssize_t.from_address
_ARRAY: Final = np.ndarray
_Entry = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)  # a call gives the GIL away


@dataclass(frozen=True, slots=True)
class Signature:
    """What a kernel takes, and whether it gives a number."""

    kinds: tuple[Kind, ...]
    is_number: bool

    @classmethod
    def of(cls, function: Callable[..., Any]) -> Self:
        """As the annotations say: ``npt.NDArray`` has one dimension, ``Any`` is a machine word."""
        hints = get_type_hints(function)
        gives = hints.pop("return", Any)
        return cls(tuple(map(_kind, hints.values())), gives is not NoneType)

    @property
    def words(self) -> int:
        """How many words the arguments are."""
        return sum(1 if kind is None else 1 + kind[1] for kind in self.kinds)


def _kind(hint: Any) -> Kind:  # noqa: ANN401 - a type, as it is written
    """The kind of one argument."""
    if hint is Any:
        return None
    shape, item = get_args(hint)
    lengths = get_args(shape)
    return np.dtype(get_args(item)[0]), 1 if not lengths or Ellipsis in lengths else len(lengths)


def _at_head(array: np.ndarray[Any, Any]) -> int:
    """Address of the data: the first word of NumPy's own part of an array, by its C interface. Ten times as fast as to ask for it."""
    return _WORD(id(array) + _HEAD).value


def _asked(array: np.ndarray[Any, Any]) -> int:
    """Address of the data, as NumPy says it."""
    return array.ctypes.data


def _address_of(probe: np.ndarray[Any, Any]) -> Callable[[np.ndarray[Any, Any]], int]:
    """The fast way, where a probe shows that it is right."""
    return _at_head if _at_head(probe) == _asked(probe) else _asked


address: Final = _address_of(np.arange(3))


class Native:
    """A kernel's machine code in this process."""

    def __init__(self, name: str, code: MachineCode, signature: Signature) -> None:
        """Load it; ``name`` is for messages."""
        self._name, self._kinds, self._is_number = name, signature.kinds, signature.is_number
        self._pack = struct.Struct(f"={signature.words}q").pack
        self._engine = loaded(code.code)
        self._entry = _Entry(self._engine.get_function_address(code.entry))

    def __call__(self, arguments: Sequence[Any]) -> int | None:
        """Run it. Raises TypeError for arguments that it was not compiled for, IndexError where indexes are checked."""
        if len(arguments) != len(self._kinds):
            raise TypeError(f"{self._name} takes {len(self._kinds)} arguments, not {len(arguments)}")
        words: list[int] = []
        for argument, kind in zip(arguments, self._kinds, strict=True):
            if kind is None:
                words.append(argument)
                continue
            dtype, dimensions = kind
            if type(argument) is not _ARRAY or argument.dtype != dtype or argument.ndim != dimensions or argument.flags.num & _PLAIN != _PLAIN:
                raise self._mistaken(arguments)
            words.append(address(argument))
            words += argument.shape
        try:
            packed = self._pack(*words)
        except struct.error as e:
            raise TypeError(f"{self._name} takes whole numbers of 64 bits: {e}") from None
        result = ctypes.c_int64()
        if self._entry(packed, ctypes.byref(result)):
            raise IndexError(f"{self._name}: an index is out of bounds")
        return result.value if self._is_number else None

    def _mistaken(self, arguments: Sequence[Any]) -> TypeError:
        """Names the first argument that is of another kind."""
        for i, (argument, kind) in enumerate(zip(arguments, self._kinds, strict=True)):
            if kind is None:
                continue
            want, found = f"{kind[0]} of {kind[1]} dimensions in C's order", type(argument).__name__
            if type(argument) is np.ndarray:
                found = f"{argument.dtype} of {argument.ndim}"
                if (argument.dtype, argument.ndim) == kind and argument.flags.num & _PLAIN == _PLAIN:
                    continue
                if argument.flags.num & _PLAIN != _PLAIN:
                    found += " in another order, or not aligned"
            return TypeError(f"{self._name}: argument {i} must be an array of {want}, and is {found}")
        raise AssertionError  # called only where there is one


def loaded(code: bytes) -> binding.ExecutionEngine:
    """Memory that holds an object file's machine code, as long as somebody has the engine."""
    engine = binding.create_mcjit_compiler(binding.parse_assembly(""), target().create_target_machine(jit=True))
    engine.add_object_file(binding.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine
