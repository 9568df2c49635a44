"""One compiler for each cache folder."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from thalweg.native.compiling import Compiling

if TYPE_CHECKING:
    from pathlib import Path


def finished(child: Compiling) -> str:
    """What it ended with."""
    while (said := child.ended()) is None:
        time.sleep(0.01)
    child.stop()
    return said


def begun(folder: Path, script: str) -> Compiling:
    """A child of its own."""
    child = Compiling.begin([sys.executable, "-c", script], folder)
    assert child is not None
    return child


def test_there_is_one_at_a_time(tmp_path: Path) -> None:
    """The next may begin when the first has ended, killed or not; another folder is another matter."""
    first = begun(tmp_path / "a", "import time; time.sleep(60)")
    other = begun(tmp_path / "b", "")

    assert Compiling.begin(["true"], tmp_path / "a") is None
    assert first.ended() is None
    first.stop()
    assert finished(begun(tmp_path / "a", "")) == ""
    assert finished(other) == ""


def test_what_goes_wrong_is_its_last_line(tmp_path: Path) -> None:
    """Or its exit status, where it says nothing."""
    assert finished(begun(tmp_path, "print('x'); raise ValueError('no LLVM')")) == "ValueError: no LLVM"
    assert finished(begun(tmp_path, "raise SystemExit(3)")) == "the compiler ended with 3"


def test_one_that_is_let_go_is_waited_for_by_nobody_else(tmp_path: Path) -> None:
    """It works to its end."""
    begun(tmp_path, f"import pathlib; pathlib.Path({str(tmp_path / 'done')!r}).touch()").let_go()

    assert (tmp_path / "done").exists()
