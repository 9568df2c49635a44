"""Compiled loops are made ready beside the run."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from thalweg.native.compiling import Compiling
from thalweg.sources.kafka import loading

LOOPS = loading.FETCHING


@pytest.mark.parametrize("is_cached", [True, False])
def test_records_wait_for_loops_that_come_from_the_cache_only(monkeypatch: pytest.MonkeyPatch, is_cached: bool) -> None:  # noqa: FBT001 - a parameter
    """While loops are loaded next to nothing is taken; not before, not after, not while a child compiles, and not for ever."""
    loaded = threading.Event()
    kernels = [SimpleNamespace(cached=lambda: is_cached, load=loaded.wait)]
    known = {"__name__": LOOPS, "kernels_of": lambda _module: kernels}
    monkeypatch.setattr(loading.registry, "attribute", lambda path: known[path.rpartition(":")[2]])
    monkeypatch.setattr(loading, "_compiled_elsewhere", lambda _module, _stopping: loaded.wait())
    monkeypatch.setitem(sys.modules, LOOPS, SimpleNamespace())
    fresh = loading.Loading(LOOPS)
    before = fresh.pauses(0.0)
    fresh.start()
    until = time.monotonic() + 10
    while not is_cached and fresh.pauses(0.01):
        assert time.monotonic() < until
    during = fresh.pauses(0.0)
    monkeypatch.setattr(fresh, "_deadline", 0.0)
    late = fresh.pauses(0.0)
    loaded.set()
    fresh.wait()

    assert (before, during, late, fresh.pauses(1.0)) == (False, is_cached, False, False)


def test_a_run_that_is_stopped_does_not_wait_for_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loops may be minutes away on a slow machine, and nobody wants them any more."""
    loaded, asked = threading.Event(), []
    kernels = [SimpleNamespace(cached=lambda: True, load=loaded.wait)]
    known = {"__name__": LOOPS, "kernels_of": lambda _module: kernels}
    monkeypatch.setattr(loading.registry, "attribute", lambda path: known[path.rpartition(":")[2]])
    monkeypatch.setitem(sys.modules, LOOPS, SimpleNamespace())
    fresh = loading.Loading(LOOPS)
    fresh.wait(lambda: bool(asked) or bool(asked.append(1)))
    ready = fresh.start()
    loaded.set()
    fresh.wait()

    assert (asked, ready, fresh.start()) == ([1], False, True)


def test_an_empty_cache_is_filled_by_another_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiler does not run in this process."""
    monkeypatch.setenv("THALWEG_CACHE", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(Path(loading.__file__).parents[3]))

    assert loading._compiled_elsewhere(LOOPS, lambda: False)
    assert {path.name.rpartition("-")[0] for path in tmp_path.rglob("*.o")} == {f"{LOOPS}.{name}" for name in ("frames", "survey", "copy", "copy_headers")}


@pytest.mark.parametrize("failing", [False, True])
def test_the_compiler_goes_on_only_after_a_run_that_ends_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: bool) -> None:  # noqa: FBT001 - a parameter
    """After a failure or a signal it is ended; there is never more than one."""
    begun: list[Compiling] = []
    begin = Compiling.begin

    def sleep(_command: object, folder: Path) -> Compiling | None:
        found = begin(["sleep", "60"], folder)
        begun.extend([found] if found else [])
        return found

    monkeypatch.setenv("THALWEG_CACHE", str(tmp_path))
    monkeypatch.setattr(loading.Compiling, "begin", sleep)
    monkeypatch.setattr(loading.threading, "main_thread", lambda: SimpleNamespace(is_alive=lambda: not begun))
    try:
        assert not loading._compiled_elsewhere(LOOPS, lambda: failing)
        assert (begun[0].ended() is None) == (not failing)
        if not failing:
            assert sleep("", next(iter(tmp_path.glob("kernels/*")))) is None
    finally:
        begun[0].stop()


def test_a_cache_that_cannot_be_written_leaves_the_work_to_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """It costs a compilation, never a run."""
    monkeypatch.setenv("THALWEG_CACHE", "/proc/nope")

    assert loading._compiled_elsewhere(LOOPS, lambda: False)


def test_the_compiler_is_not_imported_before_it_is_wanted() -> None:
    """Loading the source costs neither Numba nor LLVM."""
    code = "import sys; from thalweg import registry; registry.load('sources', 'kafka'); sys.exit('numba' in sys.modules or 'llvmlite' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], cwd=Path(loading.__file__).parents[3], check=False, timeout=60).returncode == 0


def test_warming_up_compiles_the_loops_of_every_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """What ``twg warmup`` calls for this source; the compiler is not imported where nothing is missing."""
    filled: list[str] = []
    missing = {loading.FETCHING: True, loading.DRAINING: True}
    monkeypatch.setattr(loading, "_kernels", lambda module: [SimpleNamespace(cached=lambda: not missing[module])])
    monkeypatch.setattr(loading.registry, "attribute", lambda path: lambda modules: filled.extend((path, *modules)))
    loading.compile_all()
    missing[loading.FETCHING] = False
    loading.compile_all()

    assert filled == [loading._FILL, loading.FETCHING, loading._FILL, loading.DRAINING, loading._FILL, loading.DRAINING]
