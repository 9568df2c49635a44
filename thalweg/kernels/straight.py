"""Code that is written for one program: whether it can be, where it comes from, and the words by which a kernel calls it."""

from __future__ import annotations

import hashlib
import logging
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from thalweg.kernels import avro_ops as op_
from thalweg.kernels import objects
from thalweg.kernels.calling import address, loaded
from thalweg.kernels.child import answered
from thalweg.kernels.jit import cache_folder
from thalweg.kernels.objects import MachineCode
from thalweg.kernels.program import P_ARG, P_OP

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from thalweg.kernels.memory import Longs

_LOG = logging.getLogger(__name__)
WRITER: Final = "thalweg.kernels.avro_straight"
"""The module that writes the code: only for processes that do nothing else, for LLVM needs 40 MiB."""
MAX_ROWS: Final = 600
"""Rows of a program; the compiler's time grows with them, some 4 ms each."""
NONE: Final[Longs] = np.zeros(0, np.int64)
"""The words where there is no such code."""


def possible(program: Longs) -> bool:
    """Whether every op of an Avro program, int64[m, WORDS], can be written out."""
    ops = program[:, P_OP] & op_.OPS
    endless = (ops == op_.LIST) & (program[:, P_ARG] == 0)
    return len(program) <= MAX_ROWS and bool(np.isin(ops, op_.COMMON).all()) and not endless.any()


def kept(program: Longs) -> MachineCode | None:
    """The code of a program that is not linked, from the cache; None where it is not there."""
    try:
        return objects.read(_path(program))
    except OSError:
        return None


def made(program: Longs) -> MachineCode:
    """The same from a child process, for which ``possible`` must hold; it is kept in the cache. Raises RuntimeError where it cannot be had."""
    code = MachineCode.from_bytes(answered(["-m", WRITER], "the code of an Avro schema", program.tobytes()))
    try:
        objects.write(_path(program), code)
    except OSError as e:
        _LOG.info("the code of an Avro schema cannot be kept: %s", e)
    return code


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
