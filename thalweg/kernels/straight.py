"""Code that is written for one program: whether it can be, where it comes from, and the words by which a kernel calls it."""

from __future__ import annotations

import base64
import hashlib
import zlib
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from thalweg.kernels import avro_ops as op_
from thalweg.kernels import objects
from thalweg.kernels.calling import address, loaded
from thalweg.kernels.child import interpreter
from thalweg.kernels.jit import cache_folder
from thalweg.kernels.program import P_ARG, P_OP, WORDS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from thalweg.kernels.memory import Longs
    from thalweg.kernels.objects import MachineCode

WRITER: Final = "thalweg.kernels.avro_straight"
"""The module that writes the code: only for processes that do nothing else, for LLVM needs 40 MiB."""
MAX_ROWS: Final = 600
"""Rows of a program; the compiler's time grows with them, some 5 ms each."""
NONE: Final[Longs] = np.zeros(0, np.int64)
"""The words where there is no such code."""


def possible(program: Longs) -> bool:
    """Whether every op of an Avro program, int64[m, WORDS], can be written out."""
    ops = program[:, P_OP] & op_.OPS
    endless = (ops == op_.LIST) & (program[:, P_ARG] == 0)
    return len(program) <= MAX_ROWS and bool(np.isin(ops, op_.COMMON).all()) and not endless.any()


def command(program: Longs) -> list[str]:
    """The command of a child process that puts the code of a program, which is not linked and for which ``possible`` holds, into the cache."""
    return [*interpreter(), "-m", WRITER, base64.b85encode(zlib.compress(program.tobytes())).decode()]


def program_of(told: str) -> Longs:
    """What the child was told."""
    return np.frombuffer(zlib.decompress(base64.b85decode(told)), np.int64).reshape(-1, WORDS)


def kept(program: Longs) -> MachineCode | None:
    """The code of a program, from the cache; None where it is not there."""
    try:
        return objects.read(_path(program))
    except OSError:
        return None


def keep(program: Longs, code: MachineCode) -> None:
    """Put it there. Raises OSError."""
    objects.write(_path(program), code)


class Loaded:
    """The code in this process; it lives as long as this does."""

    def __init__(self, code: MachineCode, pause: int = op_.PAUSE) -> None:
        """``pause``: for how many rows it is left alone where few rows in turn are common."""
        self._engine = loaded(code.code)
        self._address = self._engine.get_function_address(code.entry)
        self._pause = pause

    def words(self, room: int, arrays: Sequence[np.ndarray[Any, Any]]) -> Longs:
        """What the code is told, int64[A_WORDS]: ``arrays`` from ``A_SRC`` on; they must live until the kernel is done."""
        words = np.zeros(op_.A_WORDS, np.int64)
        words[op_.A_CODE], words[op_.A_SELF], words[op_.A_ROOM], words[op_.A_PAUSE] = self._address, address(words), room, self._pause
        for place, array in zip(range(op_.A_SRC, op_.A_WORDS, 2), arrays, strict=True):
            words[place], words[place + 1] = address(array), len(array)
        return words


def _path(program: Longs) -> Path:
    """Its file. Raises OSError."""
    return cache_folder() / f"avro-{hashlib.sha256(program.tobytes()).hexdigest()[:24]}.o"
