"""Allocators are told before the libraries that bring them are loaded."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from thalweg.native import allocators

if TYPE_CHECKING:
    import pytest

CHILD = """
import sys
from thalweg.native.allocators import settle
settle()
assert "pyarrow" not in sys.modules and "datafusion" not in sys.modules
import pyarrow, datafusion
pyarrow.array(range(1000))
print(open("/proc/self/status").read())
"""


def test_the_users_own_settings_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what the environment does not say is set."""
    monkeypatch.setenv("MIMALLOC_ALLOW_THP", "1")
    monkeypatch.delenv("MIMALLOC_PURGE_DELAY", raising=False)

    allocators.settle()

    assert os.environ["MIMALLOC_ALLOW_THP"] == "1"
    assert os.environ["MIMALLOC_PURGE_DELAY"] == "100"


def test_a_process_has_no_huge_pages() -> None:
    """The libraries hear it: once they are loaded, the process has transparent huge pages turned off."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MIMALLOC_")}

    status = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True, check=True, env=environment, timeout=60).stdout

    said = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    assert said.get("THP_enabled", "0").strip() == "0"
