"""``twg check``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from thalweg.cli.check import check
from thalweg.cli.main import main
from thalweg.errors import ScriptErrors

if TYPE_CHECKING:
    from thalweg.native.mock_cluster import MockCluster

QUICKSTART = str(Path(__file__).parents[3] / "examples" / "quickstart" / "pipeline.sql")


def pipeline(tmp_path: Path, address: str, options: str = "'format' 'json'", more: str = "") -> str:
    """A small pipeline file."""
    file = tmp_path / "p.sql"
    file.write_text(
        f"CREATE EXTERNAL TABLE orders (a INT) STORED AS KAFKA LOCATION 'kafka://{address}/orders'\nOPTIONS ({options});\n{more}"
        "COPY orders TO './o/' STORED AS PARQUET;\n",
        encoding="utf-8",
    )
    return str(file)


@pytest.mark.parametrize(("form", "begins"), [("text", "pipeline quickstart"), ("mermaid", "flowchart LR"), ("json", "{")])
def test_the_plan_is_printed(capsys: pytest.CaptureFixture[str], form: str, begins: str) -> None:
    """Every format goes to standard output, nothing to standard error, exit code 0 (CLI-08)."""
    assert check(QUICKSTART, format=form, settings={}) == 0

    out, err = capsys.readouterr()
    assert out.startswith(begins)
    assert err == ""


def test_settings_of_the_command_line_are_shown(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each setting is shown with where it came from (CFG-02, CFG-22)."""
    monkeypatch.setenv("TWG_BUDGET_BYTES", "1 MiB")

    check(QUICKSTART, settings={"budget.rows": "9"})

    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["budget.rows", "9", "command", "line"] in lines
    assert ["budget.bytes", "1", "MiB", "TWG_BUDGET_BYTES"] in lines


def test_errors_exit_with_two(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """All errors of the file go to standard error with their carets, nothing to standard output, exit code 2 (CLI-08)."""
    file = pipeline(tmp_path, "h:9", "'format' 'jsn', 'bad_dat' 'x'")

    with pytest.raises(ScriptErrors):
        check(file, settings={})
    assert main(["check", file]) == 2

    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("error: ") == 2
    assert err.count("^") > 2


def test_a_file_of_any_name_and_shape_is_read(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte order mark, CRLF, spaces and umlauts in the path, and a symbolic link are fine (CF-06)."""
    folder = tmp_path / "ein Ordner ä"
    folder.mkdir()
    file = Path(pipeline(folder, "h:9"))
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n"))
    link = tmp_path / "link.sql"
    link.symlink_to(file)
    monkeypatch.chdir(folder)

    assert check(str(link), settings={}) == 0
    assert capsys.readouterr().out.startswith("pipeline link (")


def test_a_missing_file_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A file that cannot be read is a usage error that names it (CF-06)."""
    assert main(["check", str(tmp_path / "none.sql")]) == 2
    assert "none.sql" in capsys.readouterr().err


def test_control_characters_do_not_reach_the_terminal(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A name with an escape sequence is shown as text."""
    more = 'CREATE VIEW v AS SELECT a AS "\x1b[31m" FROM orders;\nCOPY v TO \'./v/\' STORED AS PARQUET;\n'

    assert check(pipeline(tmp_path, "h:9", more=more), settings={}) == 0

    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\\x1b[31m" in out


def test_brokers_are_asked_only_with_connect(capsys: pytest.CaptureFixture[str], tmp_path: Path, mock_kafka: MockCluster) -> None:
    """With ``--connect`` each partition's start is shown; nothing is committed and no file is made (CL-02)."""
    mock_kafka.create_topic("orders", 2)
    file = pipeline(tmp_path, mock_kafka.bootstrap)

    assert check(file, settings={}) == 0
    assert "\nbrokers\n" not in capsys.readouterr().out
    assert check(file, connect=True, settings={}) == 0
    out = capsys.readouterr().out
    assert out.endswith("brokers\n  orders: 2 partitions\n    orders[0]  offset 0, by the start mode\n    orders[1]  offset 0, by the start mode\n")
    assert check(file, connect=True, format="json", settings={}) == 0
    assert json.loads(capsys.readouterr().out)["brokers"][0]["starts"]["orders[0]"] == "offset 0, by the start mode"
    assert check(file, connect=True, format="mermaid", settings={}) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["p.sql"]


def test_a_silent_broker_hides_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The plan is printed all the same, the first cause stands on standard error, exit code 1 (CL-02)."""
    file = pipeline(tmp_path, "127.0.0.1:1", "'format' 'json', 'connect.timeout' '1 s'")

    assert check(file, connect=True, settings={}) == 1

    out, err = capsys.readouterr()
    assert "target orders: PARQUET" in out
    assert "orders: no answer" in out
    assert "the brokers do not answer" in err


def test_offline_errors_come_before_connection_errors(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A mistake in the file is told although the registry does not answer (CL-02)."""
    options = "'format' 'avro-confluent', 'avro-confluent.url' 'http://127.0.0.1:1', 'bad_dat' 'x'"

    assert main(["check", "--connect", pipeline(tmp_path, "127.0.0.1:1", options)]) == 2

    err = capsys.readouterr().err
    assert "unknown option 'bad_dat'" in err
    assert "127.0.0.1:1:" not in err
