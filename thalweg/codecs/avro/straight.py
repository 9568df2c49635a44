"""Code of its own for an Avro program that decodes many rows: when it is made, and by whom."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any, Final

from thalweg.kernels import straight
from thalweg.kernels.jit import cache_folder
from thalweg.native.compiling import Compiling

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from thalweg.kernels.memory import Longs

_LOG = logging.getLogger(__name__)
WORTH: Final = 1_000_000
"""Rows after which it is worth some tenths of a second of another process. What is in the cache is used at once."""

_CHECK_S: Final = 0.05
_TURN: Final = threading.Lock()
"""One program at a time: several decoders of one schema ask for the same code, and only the first of them has to wait for a compiler."""
_NO_CODE: Final = "an Avro schema has no code of its own, and is decoded by the common machine: %s"


class Written:
    """The code of one program, once there is any. Used by the thread that decodes; another one waits for the compiler."""

    def __init__(self, program: Longs) -> None:
        """``program`` is int64[m, WORDS], not linked."""
        self._program = program
        self._rows = 0
        self._possible: bool | None = None
        """None before the first row."""
        self._loaded: straight.Loaded | None = None

    def words(self, room: int, arrays: Sequence[np.ndarray[Any, Any]]) -> Longs:
        """What a kernel is told of it; nothing where there is none."""
        if self._possible is None:
            self._possible = straight.possible(self._program)
            found = straight.kept(self._program) if self._possible else None
            if found is not None:
                self.use(straight.Loaded(found))
        return straight.NONE if self._loaded is None else self._loaded.words(room, arrays)

    def count(self, rows: int) -> None:
        """So many rows were decoded; asks for the code when there were enough."""
        self._rows += rows
        if self._possible and self._rows >= WORTH:
            self._possible = False
            # Not a daemon: it ends with the main thread, and no machine code is loaded while the interpreter is taken down.
            try:
                threading.Thread(target=self._make, name="thalweg-avro").start()
            except RuntimeError as e:  # as many threads as there may be, or the interpreter ends
                _LOG.info(_NO_CODE, e)

    def use(self, loaded: straight.Loaded | None) -> None:
        """From the next batch on; None leaves it to the common machine, for good."""
        self._possible, self._loaded = False, loaded

    def _make(self) -> None:
        """Wait for a child process to put it into the cache, unless somebody else did. Where the run ends first, the child goes on for the next one."""
        with _TURN:
            found, fault = straight.kept(self._program), None
            if found is None:
                try:
                    fault = _put(self._program)
                except OSError as e:
                    fault = str(e)
                found = straight.kept(self._program) if fault == "" else None
        if found is not None:
            self.use(straight.Loaded(found))
        elif fault is not None:
            _LOG.info(_NO_CODE, fault or "the cache lost it")


def _put(program: Longs) -> str | None:
    """What went wrong when a child compiled, empty where nothing did; None where the run has ended before. Raises OSError."""
    command, folder, pause, child = straight.command(program), cache_folder(), threading.Event(), None
    while threading.main_thread().is_alive():
        child = child or Compiling.begin(command, folder)
        fault = None if child is None else child.ended()
        if child is not None and fault is not None:
            child.stop()
            return fault
        pause.wait(_CHECK_S)
    return None
