"""Ctrl-C while the program loads: one line and the exit code, as at any other time, instead of a traceback."""

from __future__ import annotations

import os
import signal


def mind() -> None:
    """From here on Ctrl-C ends the process at once: nothing is open yet. Whoever started it ignoring the signal keeps that."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def release() -> None:
    """The program has loaded: from here on Ctrl-C is KeyboardInterrupt."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(number: int, _frame: object) -> None:
    """Raise nothing: an exception could come up inside of an import, or of the interpreter's own callbacks."""
    os.write(2, b"interrupted\n")
    os._exit(128 + number)
