"""A child process that compiles: nobody else imports the compiler."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

COMPILER: Final = "thalweg.kernels.compiler"
"""The module that imports Numba: only for processes that compile."""
GIVE: Final = "--give"
"""The compiler's option for machine code that nobody keeps: it goes to standard output."""


def interpreter() -> list[str]:
    """The command of a child that imports what this process imports: modules of the working folder only where we take them from there."""
    return [sys.executable] if {"", str(Path.cwd())} & set(sys.path) else [sys.executable, "-P"]


def compiled_by_child(kernel: str) -> bytes:
    """The machine code of ``module:function``, as it is kept in files. Raises RuntimeError where it cannot be had."""
    command = [*interpreter(), "-m", COMPILER, GIVE, kernel]
    # Our own interpreter and our own module; a session of its own, so that Ctrl-C is not its fault to report.
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, start_new_session=True, check=False)  # noqa: S603
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise RuntimeError(f"{kernel} cannot be compiled: {said[-1] if said else f'the compiler ended with {done.returncode}'}")
    return done.stdout
