"""Fuzzing for a bounded time; ``python -m tests.fuzz.bulk`` and ``python -m tests.fuzz.guided`` do it for longer."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.bulk import run
from tests.fuzz.targets import FORMATS

ROOT = Path(__file__).parents[2]
SECONDS = 12


@pytest.mark.parametrize("form", FORMATS)
def test_damage_is_read_as_the_reference_reads_it(form: str) -> None:
    """Twenty thousand damaged payloads of random schemas: no difference to the reference decoder, and no trace in the rows beside them (DEC-07)."""
    done, slow = run(form, 20_000, int.from_bytes(os.urandom(4)))

    assert done >= 20_000
    assert slow < done


@pytest.mark.parametrize("form", FORMATS)
def test_guided_fuzzing_finds_nothing(form: str, tmp_path: Path) -> None:
    """Payloads that a coverage-guided fuzzer makes from the reference decoder's branches: no difference, no crash, no hang (DEC-06)."""
    if importlib.util.find_spec("atheris") is None and not os.environ.get("CI"):
        pytest.skip("atheris has no wheel for this Python or system; CI has it")
    command = [sys.executable, "-m", "tests.fuzz.guided", form, str(SECONDS), str(tmp_path / "corpus")]

    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=250)

    assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-4000:]
    ran = re.search(r"Done (\d+) runs", ended.stderr + ended.stdout)
    assert ran is not None
    assert int(ran[1]) > 50
