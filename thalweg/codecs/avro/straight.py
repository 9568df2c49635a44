"""Code of its own for an Avro program that decodes many rows: when it is made, and by whom."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any, Final

from thalweg.kernels import straight

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from thalweg.kernels.memory import Longs

_LOG = logging.getLogger(__name__)
WORTH: Final = 1_000_000
"""Rows after which it is worth half a second of another process. What is in the cache is used at once."""


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
            # Not a daemon: its child must not be left alone.
            threading.Thread(target=self._make, name="thalweg-avro").start()

    def use(self, loaded: straight.Loaded) -> None:
        """From the next batch on."""
        self._possible, self._loaded = False, loaded

    def _make(self) -> None:
        """Have it compiled."""
        try:
            self.use(straight.Loaded(straight.made(self._program)))
        except (OSError, RuntimeError, ValueError) as e:
            _LOG.warning("an Avro schema has no code of its own, and is decoded by the common machine: %s", e)
