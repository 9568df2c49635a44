"""The cache of compiled kernels: keyed by what shapes the code, owner-only, never fatal, and read without the compiler."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from thalweg.kernels import arena, columns, jit

if TYPE_CHECKING:
    from collections.abc import Callable

MODULE = """
from thalweg.kernels.jit import kernel
from thalweg.kernels.memory import Int, Longs

@kernel
def probe(src: Longs) -> Int:
    return src[0] + src.shape[0]
"""
PROGRAM = """
import logging, sys
import numpy as np
from thalweg.kernels import jit
from probed import probe
logging.basicConfig(level=logging.WARNING)
compiled, given = [], jit.compiled_by_child
jit.compiled_by_child = lambda name: compiled.append(name) or given(name)
print(probe(np.array([5, 6])), len(compiled), "numba" in sys.modules)
"""
pytestmark = pytest.mark.skipif(jit.disabled(), reason="the compiler is switched off")


def run_probe(tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Compile or load one small kernel in a fresh process: what it gives, how often it was compiled, whether the compiler was imported."""
    (tmp_path / "probed.py").write_text(MODULE)
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")}
    path = os.pathsep.join([str(Path(jit.__file__).parents[2]), str(tmp_path)])
    env = inherited | {"THALWEG_CACHE": str(tmp_path / "cache"), "PYTHONPATH": path} | environment
    return subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, check=True)


def object_file(tmp_path: Path) -> Path:
    """The one that a probe has left."""
    (path,) = (tmp_path / "cache" / "kernels").rglob("*.o")
    return path


def test_second_process_loads_from_the_cache(tmp_path: Path) -> None:
    """What a child of one process compiled, the next one loads; neither imports the compiler, and the folder is its owner's alone."""
    first, second = run_probe(tmp_path), run_probe(tmp_path)
    (folder,) = (tmp_path / "cache" / "kernels").iterdir()

    assert first.stdout.split() == ["7", "1", "False"]
    assert second.stdout.split() == ["7", "0", "False"]
    assert [path.suffix for path in folder.iterdir()] == [".o"]
    assert folder.stat().st_mode & 0o777 == 0o700


def test_settings_do_not_share_code(tmp_path: Path) -> None:
    """Code with bounds checks is kept apart from code without."""
    run_probe(tmp_path)
    checked = run_probe(tmp_path, NUMBA_BOUNDSCHECK="1")

    assert checked.stdout.split()[1] == "1"
    assert len(list((tmp_path / "cache" / "kernels").iterdir())) == 2


@pytest.mark.parametrize("damage", [lambda _: b"nonsense", lambda _: b"", lambda data: data[:-1], lambda data: data[:20] + b"!" + data[21:]])
def test_broken_file_costs_one_compilation(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    """Damaged, empty or cut short, or with another digest: it is said, compiled again, and the start after that loads again."""
    run_probe(tmp_path)
    path = object_file(tmp_path)
    path.write_bytes(damage(path.read_bytes()))
    again, later = run_probe(tmp_path), run_probe(tmp_path)

    assert again.stdout.split() == ["7", "1", "False"]
    assert "it is damaged" in again.stderr
    assert later.stdout.split() == ["7", "0", "False"]
    assert later.stderr == ""


def test_cache_that_others_can_write_is_not_run(tmp_path: Path) -> None:
    """What lies there may be anybody's code: it is neither loaded nor replaced."""
    run_probe(tmp_path)
    path = object_file(tmp_path)
    path.parent.chmod(0o777)
    again = run_probe(tmp_path)

    assert again.stdout.split() == ["7", "1", "False"]
    assert "others may write into the folder" in again.stderr


def test_cache_that_cannot_be_written_is_no_fault(tmp_path: Path) -> None:
    """Where the folder cannot be made, every start compiles, and says so."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    done = run_probe(tmp_path, THALWEG_CACHE=str(blocked))

    assert done.stdout.split() == ["7", "1", "False"]
    assert "cannot be written" in done.stderr


def test_without_a_home_folder_the_user_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A container's user may have none: the folder has no place then, and kernels are compiled all the same."""

    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("THALWEG_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    asked = jit.Kernel(homeless)
    monkeypatch.setattr(jit, "compiled_by_child", lambda name: jit.objects.MachineCode("entry", name.encode()).to_bytes())

    with pytest.raises(OSError, match="THALWEG_CACHE"):
        jit.cache_folder()
    assert asked._code().code.endswith(b"homeless")


def test_folder_follows_the_sources(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A changed helper changes the folder's name."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("THALWEG_CACHE", "")  # as if it were not there: nothing is kept in the working folder
    before = jit.cache_folder()
    source = tmp_path / "sources"
    source.mkdir()
    (source / "memory.py").write_text("changed")
    monkeypatch.setattr(jit, "_FOLDER", source)
    jit._fingerprint.cache_clear()
    after = jit.cache_folder()
    jit._fingerprint.cache_clear()

    assert before.parent == after.parent == tmp_path / "thalweg" / "kernels"
    assert before != after


def test_kernels_elsewhere_follow_their_own_source(tmp_path: Path) -> None:
    """A kernel outside the folder of kernels, after a change of its module."""
    run_probe(tmp_path)
    first = object_file(tmp_path)
    (tmp_path / "cache" / "probed.py").write_text(MODULE.replace("src.shape[0]", "src[1]"))
    again = run_probe(tmp_path, PYTHONPATH=os.pathsep.join([str(Path(jit.__file__).parents[2]), str(tmp_path / "cache")]))

    assert again.stdout.split() == ["11", "1", "False"]
    assert len(list(first.parent.iterdir())) == 2


def test_a_module_knows_its_kernels(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Those it has written, not those it calls; with an empty cache they are not cached."""
    monkeypatch.setenv("THALWEG_CACHE", str(tmp_path))
    (usage,) = jit.kernels_of(columns)
    fresh = jit.Kernel(usage.function)

    assert jit.kernels_of(arena) == []
    assert usage is columns.usage
    assert not fresh.cached()


def test_threads_that_come_at_once_share_one_load(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second waits for the first."""
    fresh, loads, begun, go_on = jit.Kernel(columns.usage.__wrapped__), list[object](), threading.Event(), threading.Event()  # type: ignore[attr-defined]
    code = columns.usage._code  # type: ignore[attr-defined]

    def slow() -> object:
        begun.set()
        go_on.wait(60)
        loads.append(None)
        return code()

    monkeypatch.setattr(fresh, "_code", slow)
    threads = [threading.Thread(target=fresh.load) for _ in range(3)]
    for thread in threads:
        thread.start()
    begun.wait(60)
    go_on.set()
    for thread in threads:
        thread.join()

    assert len(loads) == 1


def test_python_twins_wrap_in_silence() -> None:
    """Without the compiler numbers wrap as machine words do, and nothing warns."""
    doubled = jit._wrapping(lambda x: x * np.int64(2))

    assert doubled(np.int64(2**62)) == -(2**63)


def test_parts_stay_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a compiler takes them for something else; with it switched off, kernels stay Python too."""
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")

    def half(x: int) -> int:
        return x // 2

    assert jit.inline(half) is half
    assert jit.role(half) == ("inline",)
    assert jit.kernel(half)(7) == 3
    assert not isinstance(jit.kernel(half), jit.Kernel)
