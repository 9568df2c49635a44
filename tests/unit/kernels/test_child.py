"""The process that compiles one kernel for another process."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from thalweg.kernels import child
from thalweg.kernels.jit import disabled
from thalweg.kernels.objects import MachineCode

if TYPE_CHECKING:
    from pathlib import Path


def test_children_import_what_we_import(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A `colorsys.py` that lies beside a pipeline is no module of ours, unless Python was started to take modules from there."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "colorsys.py").write_text("raise SystemExit(3)")
    apart = child.interpreter()
    monkeypatch.syspath_prepend(str(tmp_path))

    assert apart == [sys.executable, "-P"]
    assert child.interpreter() == [sys.executable]
    assert subprocess.run([*apart, "-c", "import colorsys"], check=False).returncode == 0


@pytest.mark.skipif(disabled(), reason="the compiler is switched off")
def test_machine_code_comes_through_a_pipe() -> None:
    """Whole, and whatever the compiler's modules print."""
    code = MachineCode.from_bytes(child.compiled_by_child("thalweg.kernels.columns:usage"))

    assert "usage" in code.entry
    assert code.code


@pytest.mark.parametrize(("command", "said"), [("sys.exit('out of memory')", "out of memory"), ("sys.exit(7)", "the compiler ended with 7")])
def test_a_compiler_that_fails_says_why(monkeypatch: pytest.MonkeyPatch, command: str, said: str) -> None:
    """Its last line, or its code where it said nothing."""
    monkeypatch.setattr(child, "interpreter", lambda: [sys.executable, "-c", f"import sys; {command}"])

    with pytest.raises(RuntimeError, match=f"a:b cannot be compiled: {said}"):
        child.compiled_by_child("a:b")
