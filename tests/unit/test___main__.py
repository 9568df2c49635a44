"""``python -m thalweg``."""

from __future__ import annotations

import runpy
import signal
import subprocess
import sys

import pytest

from thalweg import __version__, interrupt


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


PRESSED = """
import os, runpy, signal, sys

class Pressed:
    "Ctrl-C at the moment when a module is looked for."

    def find_spec(self, name, *_):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.{handler})
sys.meta_path.insert(0, Pressed())
sys.argv = ["twg", "check", "nothing.sql"]
runpy.run_module("thalweg", run_name="__main__")
"""


@pytest.mark.parametrize("module", ["thalweg.cli.main", "argparse", "thalweg.errors", "thalweg.cli.check", "pyarrow"])
def test_ctrl_c_while_it_loads_is_one_line(module: str) -> None:
    """Code and line are those of a command that was interrupted later; there is no traceback (CLI-08, CL-01)."""
    code = PRESSED.format(module=module, handler="default_int_handler")

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)

    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


def test_whoever_ignores_ctrl_c_goes_on_doing_so() -> None:
    """As under ``nohup`` or in the background of a shell."""
    code = PRESSED.format(module="pyarrow", handler="SIG_IGN")

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)

    assert (done.returncode, done.stderr) == (2, "error: cannot read nothing.sql: No such file or directory\n")


def test_a_command_that_has_loaded_may_catch_it() -> None:
    """Then Ctrl-C is KeyboardInterrupt again, and a handler of somebody else stays where it is."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        interrupt.mind()
        assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
        interrupt.release()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        interrupt.mind()
        interrupt.release()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
