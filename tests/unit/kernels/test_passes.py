"""How kernels are compiled: what is left out of Numba's way must not change what they do, and what is done once is done once."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest
from numba.core import types
from numba.core.registry import cpu_target

from thalweg.kernels import compiler, passes
from thalweg.kernels.calling import Native, Signature
from thalweg.kernels.jit import apart, disabled, inline, kernel, merged
from thalweg.kernels.memory import Int, Longs

pytestmark = pytest.mark.skipif(disabled(), reason="the compiler is switched off")


@inline
def twice(v: Int) -> Int:
    """Small."""
    return v + v


@apart
def sum_of(values: Longs, first: Int) -> Int:
    """Rare."""
    total = np.int64(0)
    for i in range(first, values.shape[0]):
        total += values[np.uint64(i)]
    return total


@merged
def clipped(v: Int, most: Int) -> Int:
    """Two ways out."""
    if v > most:
        return most
    return v


@merged
def both(v: Int, most: Int) -> Int:
    """A merged function in a merged one, and twice."""
    return clipped(twice(v), most) + clipped(v, most)


@kernel
def probe(values: Longs, most: Int) -> Int:
    """Every kind of part."""
    out = both(values[0], most)
    if out > 0:
        out += sum_of(values, np.int64(1))
    return out


@pytest.mark.parametrize(("values", "most", "wanted"), [([3, 10, 20], 100, 39), ([30, 1], 40, 71), ([-5, 9], 7, -15), ([8], 0, 0)])
def test_parts_do_what_python_does(values: list[int], most: int, wanted: int) -> None:
    """Parts that are inlined, kept apart and merged, one in the other."""
    function = probe.__wrapped__  # type: ignore[attr-defined]
    native = Native("probe", compiler.compiled(function), Signature.of(function))

    assert native([np.array(values), most]) == wanted == function(np.array(values), np.int64(most))


def test_parts_have_no_machine_code() -> None:
    """A function that only kernels call is linked into them, and has no address of its own."""
    compiler.compiled(probe.__wrapped__)  # type: ignore[attr-defined]
    (made,) = compiler._part(sum_of, ("apart",)).overloads.values()

    assert isinstance(made.library, passes._PartLibrary)
    assert made.library.get_pointer_to_function(made.fndesc.llvm_func_name) == 0
    assert compiler._part(twice, ("inline",)).overloads
    assert not compiler._part(clipped, ("merged",)).overloads


def test_an_operator_is_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over the same types; other types, and calls of our own functions, are other questions."""
    context = cpu_target.typing_context
    context.refresh()
    plus = context.resolve_value_type(operator.add)
    asked: list[Any] = []
    monkeypatch.setattr(context, "resolve_function_type", lambda *question: asked.append(question) or question)
    found = passes._Remembering(context)
    for kind in (types.int64, types.int64, types.uint64):
        found.resolve_function_type(plus, (kind, kind), {})
    for _ in range(2):
        found.resolve_function_type(types.Dispatcher(compiler._part(sum_of, ("apart",))), (types.int64,), {})

    assert len(asked) == 4
