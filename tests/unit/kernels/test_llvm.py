"""What is written in LLVM's language becomes an object file."""

from __future__ import annotations

import pytest

from thalweg.kernels import llvm
from thalweg.kernels.calling import loaded


def test_a_module_becomes_machine_code() -> None:
    """For this processor, and loaded without another library."""
    code = llvm.object_code("define i64 @next(i64 %n) {\n %m = add i64 %n, 1\n ret i64 %m\n}")

    assert loaded(code).get_function_address("next") > 0


def test_what_is_wrong_is_refused() -> None:
    """Before anything is compiled."""
    with pytest.raises(RuntimeError, match="expected"):
        llvm.object_code("define i64 @f(i64 %n) { ret nothing }")


def test_old_processors_gather_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """AMD's first generations have the instruction, and take a step for each bit; others have none."""
    monkeypatch.setattr(llvm.binding, "get_host_cpu_features", lambda: {"bmi2": True})
    monkeypatch.setattr(llvm.binding, "get_host_cpu_name", lambda: "znver2")
    slow = llvm.gathers()
    monkeypatch.setattr(llvm.binding, "get_host_cpu_name", lambda: "znver4")
    quick = llvm.gathers()
    monkeypatch.setattr(llvm.binding, "get_host_cpu_features", dict)

    assert (slow, quick, llvm.gathers()) == (False, True, False)
