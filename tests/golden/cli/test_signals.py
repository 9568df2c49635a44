"""Signals and exit codes of a real run, from outside."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[2]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_drains_what_was_read(number: signal.Signals, code: int, tmp_path: Path) -> None:
    """An endless run that is told to stop makes durable what it has read, commits it and leaves with the documented code (CL-01)."""
    shutil.copy(FOLDER / "shop.jsonl", tmp_path)
    text = (FOLDER / "shop.sql").read_text(encoding="utf-8").replace(" 'scan.bounded.mode' 'latest-offset',", "")
    (tmp_path / "shop.sql").write_text(text, encoding="utf-8")
    env = {**os.environ, "PYTHONPATH": str(ROOT)}

    with subprocess.Popen(
        [sys.executable, "-m", "thalweg", "stream", "shop.sql", "--set", "log.interval=50ms"], cwd=tmp_path, env=env, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stderr is not None
        for line in run.stderr:
            if "source.orders.rows=5" in line:
                break
        run.send_signal(number)
        rest = run.stderr.read()

    assert run.returncode == code
    assert f"shop: drained after {number.name}" in rest
    assert pq.read_table(tmp_path / "out" / "lines").num_rows == 4


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_ends_the_wait_for_a_broker(number: signal.Signals, code: int, tmp_path: Path) -> None:
    """Nothing was read yet, so there is nothing to wait for: neither 'connect.timeout' nor an error (CL-01)."""
    (tmp_path / "p.sql").write_text(
        "CREATE EXTERNAL TABLE o (a INT) STORED AS KAFKA LOCATION 'kafka://127.0.0.1:1/o' OPTIONS ('format' 'json', 'connect.timeout' '100 s');\n"
        "COPY o TO './out/' STORED AS PARQUET;\n", encoding="utf-8"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}

    with subprocess.Popen([sys.executable, "-m", "thalweg", "stream", "p.sql"], cwd=tmp_path, env=env, stderr=subprocess.PIPE, text=True) as run:
        assert run.stderr is not None
        for line in run.stderr:
            if "kafka.client" in line:
                break
        run.send_signal(number)
        rest = run.communicate(timeout=20)[1]

    assert run.returncode == code
    assert f"p: drained after {number.name}" in rest
    assert "error:" not in rest
