"""How a run shows itself: the live picture, and one line at an interval."""

from __future__ import annotations

import io
import threading
from dataclasses import replace

import pytest
from rich.console import Console

from thalweg.cli.progress import LiveView, Ticker, fields, picture
from thalweg.runtime.stats import LaneStats, NodeStats, Snapshot, SourceStats

NOW = Snapshot(
    pipeline="shop", facts={}, seconds=67.0, epochs=1234,
    sources=(SourceStats("orders", 1_200_000, 273_000_000, 81_234.4, 22_000_000.0, 4_512, 3, {"tombstones": 12}, {}, {"slow": 3, "cut t.M": 2}),),
    nodes=(NodeStats("clean", 1_200_000, 1_080_000, 3.5),),
    lanes=(LaneStats("clean", 1_000_000, 79_000.0, 7, 0.004, 1.25, 2, poisoned=False), LaneStats("lines", 0, 0.0, 0, None, None, 0, poisoned=True)),
    bad={"decode.type": 3, "odd\x1b[31m": 1}, bad_policies={"decode.type": "dlq"}, commit_failures=0, rewinds=0,
    pressure={"worker": "critical"}, stopped=None,
)  # fmt: skip


def drawn(now: Snapshot, width: int) -> list[str]:
    """The picture as text."""
    out = io.StringIO()
    Console(file=out, width=width, color_system=None).print(picture(now))
    return [line.rstrip() for line in out.getvalue().splitlines()]


def test_the_picture_shows_everything() -> None:
    """Per source rows/s, bytes/s and lag; per node rows; per sink delivered, pending, p50 and p99; bad records (CLI-02, OBS-30)."""
    assert drawn(NOW, 90) == [
        "shop  1:07  epoch 1,234",
        "source  rows/s  bytes/s       rows    lag",
        "orders  81,234  22.0 MB  1,200,000  4,512",
        "node      rows in   rows out",
        "clean   1,200,000  1,080,000",
        "sink    delivered  rows/s  pending  ack p50    p99",
        "clean   1,000,000  79,000        7     4 ms  1.2 s",
        "lines           0       0        0        -      -",
        "bad records  decode.type 3  odd\\x1b[31m 1",
        "left out  orders: tombstones 12",
        "pressure  worker critical",
    ]


@pytest.mark.parametrize("width", [20, 40, 60])
def test_the_picture_fits_narrow_terminals(width: int) -> None:
    """Whatever the width, no line is longer (CL-02)."""
    assert max(len(line) for line in drawn(NOW, width)) <= width


def test_before_anything_happened() -> None:
    """An unknown lag is a question mark, an empty picture says that it starts."""
    nothing = replace(NOW, pipeline="", sources=(), nodes=(), lanes=(), bad={}, pressure={}, seconds=0.0, epochs=0)
    unknown = replace(nothing, sources=(replace(NOW.sources[0], lag=None, dropped={}),))

    assert drawn(nothing, 80) == ["starting  0:00  epoch 0"]
    assert drawn(unknown, 80)[2].endswith("?")


def test_fields_of_a_line() -> None:
    """The same facts as flat fields with numbers."""
    shown = fields(NOW)

    assert shown["source.orders.rows_per_s"] == 81_234
    assert shown["source.orders.lag"] == 4_512
    assert shown["source.orders.dropped.tombstones"] == 12
    assert (shown["source.orders.decode.slow"], shown["source.orders.decode.cut.t.M"]) == (3, 2)
    assert shown["node.clean.rows"] == 1_080_000
    assert (shown["sink.clean.delivered"], shown["sink.clean.ack_p50_ms"], shown["sink.lines.ack_p99_ms"]) == (1_000_000, 4.0, None)
    assert (shown["bad.decode.type"], shown["pressure.worker"], shown["seconds"]) == (3, "critical", 67.0)


class Lines:
    """A log that remembers, and tells when it has enough."""

    def __init__(self) -> None:
        """Nothing yet."""
        self.events: list[str] = []
        self.enough = threading.Event()

    def on(self, event: object) -> None:
        """Facts are not what is looked for here."""

    def line(self, level: str, event: str, fields: object) -> None:
        """Remember."""
        self.events.append(f"{level} {event} {bool(fields)}")
        if len(self.events) >= 2:
            self.enough.set()


def test_the_ticker_ticks_until_it_is_stopped() -> None:
    """One progress line an interval; none after the end."""
    log = Lines()

    with Ticker(lambda: NOW, log, 5_000_000):
        assert log.enough.wait(5)
    after = len(log.events)

    assert set(log.events) == {"info progress True"}
    assert not log.enough.wait(0) or len(log.events) == after


def test_the_live_view_gives_the_terminal_back() -> None:
    """Lines stand above the picture, and the picture and the hidden cursor are gone at the end."""
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=80, color_system=None)
    view = LiveView(lambda: NOW, console)

    with view:
        view.write("level=warning event=[bold]x[/bold]\n")

    shown = out.getvalue()
    assert "level=warning event=[bold]x[/bold]" in shown
    assert "epoch 1,234" in shown
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l")
