"""The cache of compiled kernels: keyed by what shapes the code, owner-only, and never fatal."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba.core.options import DefaultOptions

from thalweg.kernels import jit

PROGRAM = """
import logging
logging.basicConfig(level=logging.WARNING)
import numpy as np
from thalweg.kernels.jit import kernel
@kernel
def probe(src):
    return src[0] + src.shape[0]
print(probe(np.array([5, 6])), sum(probe.stats.cache_hits.values()))
import sys
from thalweg.kernels import jit
sys.modules["thalweg.probe"] = sys.modules["__main__"]
print(*jit.unsaved())
"""


def run_probe(tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Compile or load one small kernel in a fresh process."""
    script = tmp_path / "probe.py"
    script.write_text(PROGRAM)
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")}
    env = inherited | {"THALWEG_CACHE": str(tmp_path / "cache"), "PYTHONPATH": str(Path(jit.__file__).parents[2])} | environment
    return subprocess.run([sys.executable, str(script)], env=env, capture_output=True, text=True, check=True)


def test_private_option_still_exists() -> None:
    """Numba still knows ``_nrt``; without it kernels work but count references at every call."""
    assert hasattr(DefaultOptions, "_nrt")


def test_second_process_loads_from_the_cache(tmp_path: Path) -> None:
    """What one process compiled, the next one loads; the folder is its owner's alone."""
    first, second = run_probe(tmp_path), run_probe(tmp_path)
    (folder,) = (tmp_path / "cache" / "kernels").iterdir()

    assert first.stdout.split() == ["7", "0"]
    assert second.stdout.split() == ["7", "1"]
    assert folder.stat().st_mode & 0o777 == 0o700


def test_settings_do_not_share_code(tmp_path: Path) -> None:
    """Code with bounds checks is kept apart from code without."""
    run_probe(tmp_path)
    checked = run_probe(tmp_path, NUMBA_BOUNDSCHECK="1")

    assert checked.stdout.split()[1] == "0"
    assert len(list((tmp_path / "cache" / "kernels").iterdir())) == 2


def test_broken_cache_costs_a_compilation(tmp_path: Path) -> None:
    """Damaged files are reported, and the kernel is compiled again."""
    run_probe(tmp_path)
    for path in (tmp_path / "cache" / "kernels").rglob("*.nbc"):
        path.write_bytes(b"nonsense")
    again = run_probe(tmp_path)

    assert again.stdout.split() == ["7", "0"]
    assert "cannot be read" in again.stderr


@pytest.mark.parametrize("bytes_", [b"nonsense", b"", b"\x80\x04."])
def test_broken_index_costs_one_compilation(tmp_path: Path, bytes_: bytes) -> None:
    """An index cut short by a crash is begun anew, and the start after that loads again."""
    run_probe(tmp_path)
    for path in (tmp_path / "cache" / "kernels").rglob("*.nbi"):
        path.write_bytes(bytes_)
    again, later = run_probe(tmp_path), run_probe(tmp_path)

    assert again.stdout.split() == ["7", "0"]
    assert "cannot be read" in again.stderr
    assert later.stdout.split() == ["7", "1"]
    assert later.stderr == ""


def test_cache_that_cannot_be_written_is_no_fault(tmp_path: Path) -> None:
    """Where the folder cannot be made, every start compiles, and says so; which kernels those are can be asked."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    done = run_probe(tmp_path, THALWEG_CACHE=str(blocked))

    assert done.stdout.split() == ["7", "0", "probe"]
    assert "cannot be written" in done.stderr


def test_without_a_home_folder_the_user_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A container's user may have none."""

    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("THALWEG_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", homeless)

    with pytest.raises(OSError, match="THALWEG_CACHE"):
        jit.cache_folder()


def test_folder_follows_the_sources(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A changed helper changes the folder's name, which Numba's own cache would not notice."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("THALWEG_CACHE", raising=False)
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


def test_python_twins_wrap_in_silence() -> None:
    """Without the compiler numbers wrap as machine words do, and nothing warns."""
    doubled = jit._wrapping(lambda x: x * np.int64(2))

    assert doubled(np.int64(2**62)) == -(2**63)
