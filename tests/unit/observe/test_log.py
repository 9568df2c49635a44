"""Log lines: one for each event of interest, safe, short, limited."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

import pytest

from thalweg import registry
from thalweg.model import events as e
from thalweg.model.clock import SECOND_NS
from thalweg.model.position import Partition
from thalweg.testing.fakes import FakeClock

if TYPE_CHECKING:
    from collections.abc import Callable

P0 = Partition("orders", "orders", 0)


class Sheet:
    """A logger and what it wrote."""

    def __init__(self, **options: str) -> None:
        """A logger with a clock that stands still."""
        self.clock, self.lines = FakeClock(), list[str]()
        self.log = registry.load("observe", "log").make(self.lines.append, self.clock, **options)

    def records(self) -> list[dict[str, str]]:
        """Logfmt lines, read back."""
        return [dict(word.split("=", 1) for word in shlex.split(line)) for line in self.lines]


@pytest.fixture
def sheet() -> Sheet:
    """A logfmt logger."""
    return Sheet()


EVENTS: list[tuple[e.Event, str, str]] = [
    (e.PipelineStarted("orders", {"group": "g"}), "info", "started"),
    (e.PipelineStopped("orders", "finished", 1.5), "info", "stopped"),
    (e.SchemaResolved("orders", "value", "avro", 2, "id int64, note string"), "info", "schema_resolved"),
    (e.Assigned("orders", {P0: 5}, {P0: "the sinks' record"}), "info", "assigned"),
    (e.Assigned("orders", {P0: 5}, {}), "info", "assigned"),
    (e.Revoked("orders", (P0,), lost=False), "info", "revoked"),
    (e.Revoked("orders", (P0,), lost=True), "warning", "lost"),
    (e.OffsetReset("orders", P0, 5, 90, "retention"), "warning", "offset_reset"),
    (e.BadRecords("orders", "dlq", {"decode.type": 2}, "orders[0] offset 3: no"), "warning", "bad_records"),
    (e.RecordsDropped("orders", "tombstones", 2), "info", "records_dropped"),
    (e.CommitFailed("orders", "rebalance"), "warning", "commit_failed"),
    (e.LaneRetried("clean", 2, "busy"), "warning", "lane_retried"),
    (e.LanePoisoned("clean", "disk full"), "error", "lane_poisoned"),
    (e.Rewound("span taken"), "warning", "rewound"),
    (e.Pressure("worker", "stuck", 9), "warning", "pressure"),
    (e.Notice("info", "kafka.reader", "slow path"), "info", "notice"),
]


@pytest.mark.parametrize(("event", "level", "name"), EVENTS)
def test_one_line_for_each_event(sheet: Sheet, event: e.Event, level: str, name: str) -> None:
    """Each event of interest is one line with its level and its name (CLI-10, KSR-12)."""
    sheet.log.on(event)

    (record,) = sheet.records()
    assert (record["level"], record["event"]) == (level, name)
    assert record["ts"].endswith("Z")


@pytest.mark.parametrize("event", [
    e.Polled("o", 1, 1, 0), e.NodeRan("n", 1, 1, 0.1), e.EpochDone("o", 1, 1, 0.1), e.OffsetsCommitted("o", {P0: 1}), e.DecodeCounts("o", {"slow": 1}),
])  # fmt: skip
def test_what_is_counted_gives_no_line(sheet: Sheet, event: e.Event) -> None:
    """Facts of every epoch are statistics, not lines."""
    sheet.log.on(event)

    assert sheet.lines == []


def test_fields_say_what_happened(sheet: Sheet) -> None:
    """Positions, codes and reasons are in the line."""
    sheet.log.on(e.Assigned("orders", {P0: 5}, {P0: "the sinks' record"}))
    sheet.log.on(e.BadRecords("orders", "drop", {"decode.type": 2, "sql.cast": 1}, "no"))

    assigned, bad = sheet.records()
    assert assigned["positions"] == "orders[0]@5 (the sinks' record)"
    assert (bad["rows"], bad["decode.type"], bad["sql.cast"], bad["policy"]) == ("3", "2", "1", "drop")


@pytest.mark.parametrize("style", ["logfmt", "json"])
@pytest.mark.parametrize("value", ['\n{"level":"error"}', "\x1b[31mred\x1b[0m", "\x7f\x9b31m", "a\u202eb\r\n", 'say "x" \\ y', "level=error", ""])
def test_values_cannot_forge_lines(style: str, value: str) -> None:
    """No newline, no escape sequence, no second level: one printable line that reads back as one record (OB-03)."""
    sheet = Sheet(style=style)

    sheet.log.on(e.Notice("info", "x", value))

    (line,) = sheet.lines
    assert line.endswith("\n")
    assert line[:-1].isprintable()
    if style == "json":
        assert json.loads(line)["message"] == value
    else:
        assert line.startswith("ts=")
        assert " level=info event=notice code=x message=" in line


def test_huge_values_are_cut(sheet: Sheet) -> None:
    """A bad record of ten megabytes is a short line that says how much is missing (OB-03)."""
    sheet.log.on(e.BadRecords("orders", "dlq", {"decode.type": 1}, "x" * 10_000_000))

    assert len(sheet.lines[0]) < 1_000
    assert "9999500 more" in sheet.lines[0]


def test_a_resolved_schema_is_one_line(sheet: Sheet) -> None:
    """Every field with its type, also of a wide table; a schema without end is cut like any value (DEC-03)."""
    wide = ", ".join(f"field_{n} int64" for n in range(400))
    sheet.log.on(e.SchemaResolved("orders", "value", "protobuf", 400, wide))
    sheet.log.on(e.SchemaResolved("orders", "key", "avro", 1, "x" * 1_000_000))

    value, key = sheet.records()
    assert (value["table"], value["side"], value["format"], value["columns"], value["fields"]) == ("orders", "value", "protobuf", "400", wide)
    assert len(key["fields"]) < 17_000


def test_secrets_do_not_show(sheet: Sheet) -> None:
    """Values of secret keys and passwords in URLs are replaced (OB-03)."""
    sheet.log.on(e.PipelineStarted("p", {"properties.sasl.password": "hunter2", "url": "https://me:hunter2@host/x"}))

    assert "hunter2" not in sheet.lines[0]
    assert "https://me:********@host/x" in sheet.lines[0]


def test_repeats_are_limited_and_counted(sheet: Sheet) -> None:
    """Five lines of a kind in ten seconds; the next one says how many were left out; other kinds are not touched (OB-03)."""
    for _ in range(100):
        sheet.log.on(e.LaneRetried("clean", 1, "busy"))
    sheet.log.on(e.LaneRetried("other", 1, "busy"))
    assert len(sheet.lines) == 6

    sheet.clock.sleep_ns(11 * SECOND_NS)
    sheet.log.on(e.LaneRetried("clean", 1, "busy"))
    assert sheet.records()[-1]["suppressed"] == "95"


def test_pressure_is_told_when_it_lasts(sheet: Sheet) -> None:
    """A queue that is full for moments gives no line; a state that lasts gives one, and so does its end, without an event of its own (OB-03)."""
    for _ in range(200):
        for state in ("critical", "normal"):
            sheet.log.on(e.Pressure("worker", state, 1))
            sheet.clock.sleep_ns(SECOND_NS // 20)
    assert sheet.lines == []

    sheet.log.on(e.Pressure("worker", "critical", 90))
    sheet.log.on(e.Pressure("lane out", "warning", 60))
    sheet.clock.sleep_ns(4 * SECOND_NS)
    sheet.log.on(e.Polled("o", 1, 1, 0))
    assert sheet.lines == []

    sheet.clock.sleep_ns(SECOND_NS)
    sheet.log.on(e.Polled("o", 1, 1, 0))
    sheet.log.on(e.Pressure("worker", "normal", 0))
    sheet.log.on(e.Pressure("worker", "critical", 90))
    sheet.clock.sleep_ns(6 * SECOND_NS)
    sheet.log.on(e.Pressure("worker", "normal", 0))
    sheet.clock.sleep_ns(6 * SECOND_NS)
    sheet.log.on(e.Polled("o", 1, 1, 0))

    assert [(r["level"], r["stage"], r["state"]) for r in sheet.records()] == [
        ("warning", "worker", "critical"), ("info", "lane out", "warning"), ("info", "worker", "normal"),
    ]  # fmt: skip


def test_a_stuck_queue_is_told_at_once(sheet: Sheet) -> None:
    """It has lasted when it is known; what it was before that lasted too is told before it."""
    sheet.log.on(e.Pressure("worker", "critical", 90))
    sheet.clock.sleep_ns(10 * SECOND_NS)
    sheet.log.on(e.Pressure("worker", "stuck", 90))
    sheet.log.on(e.Pressure("worker", "critical", 80))
    sheet.log.on(e.Pressure("worker", "stuck", 90))

    assert [r["state"] for r in sheet.records()] == ["critical", "stuck"]


def test_a_terminal_gets_warnings_as_words() -> None:
    """Beside a live view only warnings and errors are lines, without time and keys for the obvious."""
    sheet = Sheet(style="plain", at_least="warning")

    for event, _, _ in EVENTS:
        sheet.log.on(event)

    assert {line.split()[0] for line in sheet.lines} == {"warning", "error"}
    assert 'error lane_poisoned lane=clean reason="disk full"\n' in sheet.lines


def test_json_keeps_types() -> None:
    """Numbers, booleans and null stay what they are in JSON; logfmt writes them bare."""
    fields: dict[str, Any] = {"n": 1, "f": 1.5, "b": True, "none": None, "odd key!": "x"}
    sheet, flat = Sheet(style="json"), Sheet()

    sheet.log.line("info", "progress", fields)
    flat.log.line("info", "progress", fields)

    assert json.loads(sheet.lines[0]) | {"ts": ""} == {
        "ts": "", "level": "info", "event": "progress", "n": 1, "f": 1.5, "b": True, "none": None, "odd_key_": "x",
    }
    assert flat.lines[0].endswith("n=1 f=1.5 b=true none=null odd_key_=x\n")


@pytest.mark.parametrize("error", [OSError("closed"), ValueError("closed file")])
def test_a_broken_log_stops_nothing(error: Exception) -> None:
    """An observer never raises: a log that cannot be written is left unwritten."""

    def write(_: str) -> object:
        raise error

    make: Callable[..., Any] = registry.load("observe", "log").make

    make(write, FakeClock()).on(e.Rewound("x"))
