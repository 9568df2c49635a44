"""``python -m thalweg``."""

from __future__ import annotations

import runpy
import sys

import pytest

from thalweg import __version__


def test_the_module_is_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """It takes the same arguments and ends with the same code (CLI-01)."""
    monkeypatch.setattr(sys, "argv", ["thalweg", "version"])

    with pytest.raises(SystemExit) as caught:
        runpy.run_module("thalweg", run_name="__main__")

    assert caught.value.code == 0
    assert capsys.readouterr().out == f"twg {__version__}\n"


def test_importing_it_runs_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """Only the interpreter's own start runs the command."""
    runpy.run_module("thalweg.__main__", run_name="imported")

    assert capsys.readouterr().out == ""
