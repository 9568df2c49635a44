"""What a run says at its beginning and its end."""

from __future__ import annotations

import shlex
from types import SimpleNamespace
from typing import Any

from thalweg.cli.summary import look, start_lines, summary_lines
from thalweg.ports.sink import Guarantee
from thalweg.runtime.stats import LaneStats, Snapshot, SourceStats


def lane(name: str, location: str, *, kind: str = "PARQUET", gates: bool = True) -> Any:  # noqa: ANN401 - a Lane in everything that is asked of it
    """A lane."""
    return SimpleNamespace(name=name, kind=kind, location=location, guarantee=Guarantee.EXACTLY_ONCE, gates=gates)


PLAN: Any = SimpleNamespace(
    settings=SimpleNamespace(name="shop"),
    sources=[SimpleNamespace(name="orders", kind="KAFKA", location="kafka://me:secret@host/orders")],
    lanes=[lane("clean", "./out/clean/"), lane("lines", "s3://lake/lines/", gates=False), lane("shown", "stdout", kind="CONSOLE")],
)
END = Snapshot(
    pipeline="shop", facts={}, seconds=2.0, epochs=9, sources=(SourceStats("orders", 1000, 5000, 0, 0, 0, 1, {"tombstones": 2}, {}, {"slow": 3, "finer": 1, "cut t.M": 2}),), nodes=(),
    lanes=(LaneStats("clean", 900, 0, 0, None, None, 0, poisoned=False), LaneStats("lines", 0, 0, 0, None, None, 0, poisoned=True)),
    bad={"decode.type": 3, "sql.cast": 1}, bad_policies={"decode.type": "dlq", "sql.cast": "drop"}, commit_failures=0, rewinds=0, pressure={},
    stopped="finished",
)  # fmt: skip


def test_start_says_where_it_goes_and_what_gates() -> None:
    """Pipeline, sources without secrets, targets with guarantee and gate (CLI-10)."""
    assert start_lines(PLAN) == [
        "pipeline shop",
        "  from orders  KAFKA kafka://me:********@host/orders",
        "  to   clean  PARQUET ./out/clean/  (exactly once, gates)",
        "  to   lines  PARQUET s3://lake/lines/  (exactly once, does not gate)",
        "  to   shown  CONSOLE stdout  (exactly once, gates)",
    ]


def test_summary_says_what_happened_and_how_to_look() -> None:
    """Rows in and out, bad records by code, what decoding did the long way, and a command for each target that has rows (CLI-02, DEC-11)."""
    assert summary_lines(PLAN, END, how="done") == [
        "shop: done after 2.0 s",
        "  in    orders: 1,000 rows, 5.0 kB, 500 rows/s, 2 left out by tombstones",
        "  out   clean: 900 rows -> ./out/clean/",
        "  out   lines: 0 rows -> s3://lake/lines/, FAILED",
        "  out   shown: 0 rows -> stdout",
        "  bad   3 x decode.type (in the dead-letter lane)",
        "  bad   1 x sql.cast (dropped)",
        "  note  orders: 3 records took the exact path",
        "  note  orders: 1 times lost digits that are finer than their columns' units",
        "  note  orders: 2 x t.M lay deeper than 'decode.max_depth' and became JSON text",
        "look into it:",
        """  twg repl -c "CREATE EXTERNAL TABLE clean STORED AS PARQUET LOCATION './out/clean/'; SELECT * FROM clean LIMIT 10\"""",
    ]


def test_the_command_survives_a_shell() -> None:
    """Whatever the location, a shell hands over exactly one statement text."""
    for location in ("./out/", "./it's/", 'a "b" $HOME `x` !1', "ä/\x01"):
        command = look(lane("Weird-name.1", location))

        assert command is not None
        *head, sql = shlex.split(command)
        assert head == ["twg", "repl", "-c"]
        assert "LOCATION '" + location.replace("'", "''") + "'" in sql
        assert "TABLE weird_name_1 " in sql


def test_a_console_cannot_be_looked_into() -> None:
    """There is no command for a target that cannot be read back."""
    assert look(lane("x", "stdout", kind="CONSOLE")) is None
