"""The compiler: what it takes, what it refuses, and what it leaves in the cache."""

from __future__ import annotations

import ctypes
import io
import math
import os
from contextlib import nullcontext
from typing import TYPE_CHECKING

import numpy as np
import pytest
from numba.core.options import DefaultOptions

from thalweg.kernels import columns, compiler, intrinsics, jit
from thalweg.kernels.bits import clz, ctz, mulhi, sevens
from thalweg.kernels.calling import Native, Signature
from thalweg.kernels.child import GIVE
from thalweg.kernels.jit import Kernel, disabled, kernel
from thalweg.kernels.machine import Addresses, U, caller, copy_bytes, load8, load32, load64
from thalweg.kernels.memory import Bytes, Doubles, Int, Longs
from thalweg.kernels.objects import MachineCode

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

compiled = pytest.mark.skipif(disabled(), reason="the compiler is switched off")
call_one, call_two, call_five = caller(1, "int64"), caller(2, "void"), caller(5, "int32")


@kernel
def counted(words: Addresses, out: Longs) -> None:
    """Of two words."""
    out[0] = ctz(words[0])
    out[1] = clz(words[0])
    out[2] = np.int64(mulhi(words[0], words[1]))
    out[3] = np.int64(sevens(words[0]))


@kernel
def at_addresses(places: Addresses, functions: Addresses, out: Longs) -> Int:
    """Loads, a copy and calls."""
    out[0], out[1], out[2] = np.int64(load64(places[0])), load32(places[0]), load8(places[0])
    copy_bytes(places[1], places[0], U(3))
    call_two(functions[1], U(5), U(6))
    return call_one(functions[0], U(7)) + call_five(functions[2], U(1), U(2), U(3), U(4), U(5))


def compiled_here(made: Callable[..., object]) -> Callable[..., object]:
    """A kernel that is compiled in this process; where the compiler is switched off, its twin."""
    if disabled():
        return made
    native = Native("here", compiler.compiled(python_of(made)), Signature.of(python_of(made)))
    return lambda *arguments: native(arguments)


def python_of(made: object) -> Callable[..., object]:
    """The function of a kernel."""
    function: Callable[..., object] = getattr(made, "__wrapped__")  # noqa: B009 - a decorator's attribute
    return function


def test_private_option_still_exists() -> None:
    """Numba still knows ``_nrt``; without it kernels work but count references at every call."""
    assert hasattr(DefaultOptions, "_nrt")


@pytest.mark.parametrize("gathers", [True, False])
@pytest.mark.parametrize(("one", "two"), [(0, 5), (1, 1), (1 << 63, 6), (0xFFFF_0000, (1 << 64) - 1), (0x0123_4567_89AB_CDEF, 3), ((1 << 64) - 1, 1)])
def test_instructions_do_what_their_twins_do(monkeypatch: pytest.MonkeyPatch, one: int, two: int, gathers: bool) -> None:  # noqa: FBT001 - a parameter
    """Zeros at both ends, the high half of a product, and seven bits of each byte, by the instruction where there is one and without it."""
    if not disabled():
        quick = intrinsics._gathers()
        monkeypatch.setattr(intrinsics, "_gathers", lambda: gathers and quick)
        compiler._part.cache_clear()
    out = np.zeros(4, np.int64)
    words = np.array([one, two], np.uint64)
    compiled_here(counted)(words, out)
    compiler._part.cache_clear()

    joined = sum((one >> (8 * i) & 127) << (7 * i) for i in range(8))
    assert out.tolist() == [int(ctz(words[0])), int(clz(words[0])), one * two >> 64, joined]


def test_a_processor_that_is_named_is_not_asked_what_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    """Machine code for another processor has no instruction that only this one is known to have."""
    monkeypatch.setattr(intrinsics.config, "CPU_NAME", "generic")

    assert not intrinsics._gathers()


def test_memory_and_functions_are_reached_by_address() -> None:
    """Numbers in memory, bytes from there, and C functions of one, two and five words."""
    seen: list[int] = []
    one = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(lambda a: -a)
    two = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)(lambda a, b: seen.extend((a, b)))
    five = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_int64] * 5)(lambda *words: -sum(words))
    functions = np.array([ctypes.cast(f, ctypes.c_void_p).value for f in (one, two, five)], np.uint64)
    source, target, out = np.array([-2], np.int64), np.zeros(1, np.int64), np.zeros(3, np.int64)
    answer = compiled_here(at_addresses)(np.array([source.ctypes.data, target.ctypes.data], np.uint64), functions, out)

    assert answer == -7 - 15
    assert seen == [5, 6]
    assert out.tolist() == [-2, -2, 254]
    assert target.tobytes() == b"\xfe\xff\xff" + bytes(5)


@compiled
def test_what_is_compiled_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the command of a child: the kernels of a module."""
    monkeypatch.setenv("THALWEG_CACHE", str(tmp_path))
    monkeypatch.setattr(columns, "usage", Kernel(python_of(columns.usage)))
    compiler.main(["thalweg.kernels.columns"])
    fresh = Kernel(python_of(columns.usage))
    monkeypatch.setattr(jit, "compiled_by_child", lambda _: pytest.fail("it is in the cache"))

    assert fresh.cached()
    fresh.load()


@compiled
def test_one_kernel_is_given_to_another_process(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """All of standard output is its machine code, whatever its module prints."""
    given = io.BytesIO()
    monkeypatch.setattr(compiler.os, "fdopen", lambda handle, _mode: os.close(handle) or nullcontext(given))
    monkeypatch.setattr(compiler.os, "dup2", lambda *_: None)
    compiler.main([GIVE, "thalweg.kernels.columns:usage"])

    assert "usage" in MachineCode.from_bytes(given.getvalue()).entry
    assert capfd.readouterr().out == ""


@compiled
def test_a_cache_that_takes_nothing_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that is there to fill it has failed."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("THALWEG_CACHE", str(tmp_path / "file"))
    monkeypatch.setattr(columns, "usage", Kernel(python_of(columns.usage)))

    with pytest.raises(OSError, match="file"):
        compiler.fill(["thalweg.kernels.columns"])
    assert jit.here.get() is None


@compiled
def test_other_results_are_refused() -> None:
    """A kernel gives a number of 64 bits, or nothing."""

    def half(values: Doubles) -> Int:
        return values[0] / 2

    def number(values: Bytes) -> None:
        return values[0]  # type: ignore[no-any-return]

    with pytest.raises(TypeError, match="half gives float64"):
        compiler.compiled(half)
    with pytest.raises(TypeError, match="number gives uint8"):
        compiler.compiled(number)


@compiled
def test_what_needs_a_library_is_refused() -> None:
    """Machine code is loaded without one: what is missing would end the process."""

    def root(values: Doubles) -> None:
        values[0] = math.lgamma(values[0])

    with pytest.raises(TypeError, match=r"root needs \w*lgamma"):
        compiler.compiled(root)


@compiled
def test_nothing_of_numba_is_left_in_machine_code() -> None:
    """It runs without the compiler's run-time library, also with an array of three dimensions."""

    def middle(values: np.ndarray[tuple[int, int, int], np.dtype[np.int64]], i: Int, j: Int, k: Int) -> Int:
        return values[i, j, k]

    native = Native("middle", compiler.compiled(middle), Signature.of(middle))

    assert native([np.arange(24).reshape(2, 3, 4), 1, 2, 3]) == 23
    assert native([np.arange(24).reshape(2, 3, 4), 1, 0, 2]) == 14
