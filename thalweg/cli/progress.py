"""How a run shows itself: a live view on a terminal, one structured line at an interval elsewhere. Both on standard error."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from thalweg.cli import figures
from thalweg.cli.render import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType
    from typing import Self

    from thalweg.model.events import Event
    from thalweg.runtime.stats import Snapshot

_REFRESH = 4
"""Pictures a second."""


class Log(Protocol):
    """What a log plug-in makes."""

    def on(self, event: Event) -> None:
        """Take one fact."""

    def line(self, level: str, event: str, fields: Mapping[str, object]) -> None:
        """Write one line of somebody else's."""


class LiveView:
    """A compact picture of the run under whatever else is written; log lines scroll above it."""

    def __init__(self, snapshot: Callable[[], Snapshot], console: Console) -> None:
        """``snapshot`` is asked a few times a second, from a thread of its own."""
        self._snapshot, self._console = snapshot, console
        self._live = Live(console=console, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False)
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._draw, name="twg-live", daemon=True)

    def write(self, line: str) -> None:
        """A log line, above the picture; the logger has escaped it. Lines and pictures take turns: both move the cursor."""
        with self._lock:
            self._console.print(line.rstrip("\n"), markup=False, highlight=False, soft_wrap=True, style="dim")

    def __enter__(self) -> Self:
        """Start drawing."""
        self._live.start()
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Stop drawing and give the cursor back."""
        self._done.set()
        self._thread.join()
        self._live.stop()

    def _draw(self) -> None:
        """Until done."""
        while True:
            shown = picture(self._snapshot())
            with self._lock:
                self._live.update(shown, refresh=True)
            if self._done.wait(1 / _REFRESH):
                return


class Ticker:
    """Writes one ``progress`` line at an interval, from a thread of its own."""

    def __init__(self, snapshot: Callable[[], Snapshot], log: Log, interval_ns: int) -> None:
        """The first line comes after one interval."""
        self._snapshot, self._log, self._interval = snapshot, log, interval_ns / 1e9
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._tick, name="twg-progress", daemon=True)

    def __enter__(self) -> Self:
        """Start ticking."""
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Stop ticking; no line comes after this."""
        self._done.set()
        self._thread.join()

    def _tick(self) -> None:
        """Until done."""
        while not self._done.wait(self._interval):
            self._log.line("info", "progress", fields(self._snapshot()))


def fields(now: Snapshot) -> dict[str, object]:
    """A snapshot as the fields of one line."""
    out: dict[str, object] = {"pipeline": now.pipeline, "seconds": round(now.seconds, 1), "epochs": now.epochs}
    for source in now.sources:
        out[f"source.{source.name}.rows"] = source.rows
        out[f"source.{source.name}.rows_per_s"] = round(source.rows_per_second)
        out[f"source.{source.name}.bytes_per_s"] = round(source.bytes_per_second)
        out[f"source.{source.name}.lag"] = source.lag
        out |= {f"source.{source.name}.dropped.{rule}": rows for rule, rows in source.dropped.items()}
        out |= {f"source.{source.name}.decode.{what.replace(' ', '.')}": n for what, n in source.decoding.items()}
    for node in now.nodes:
        out[f"node.{node.name}.rows"] = node.rows_out
    for lane in now.lanes:
        out[f"sink.{lane.name}.delivered"] = lane.delivered
        out[f"sink.{lane.name}.pending"] = lane.pending
        out[f"sink.{lane.name}.ack_p50_ms"] = figures.milliseconds(lane.p50)
        out[f"sink.{lane.name}.ack_p99_ms"] = figures.milliseconds(lane.p99)
    out |= {f"bad.{code}": rows for code, rows in now.bad.items()}
    return out | {f"pressure.{stage}": state for stage, state in now.pressure.items()}


def picture(now: Snapshot) -> Group:
    """The live view."""
    parts: list[Table | Text] = [Text(f"{printable(now.pipeline) or 'starting'}  {figures.clock(now.seconds)}  epoch {now.epochs:,}", style="bold", no_wrap=True)]
    sources = _table("source", "rows/s", "bytes/s", "rows", "lag")
    for source in now.sources:
        lag = "?" if source.lag is None else f"{source.lag:,}"
        sources.add_row(printable(source.name), f"{source.rows_per_second:,.0f}", figures.size(source.bytes_per_second), f"{source.rows:,}", lag)
    nodes = _table("node", "rows in", "rows out")
    for node in now.nodes:
        nodes.add_row(printable(node.name), f"{node.rows_in:,}", f"{node.rows_out:,}")
    lanes = _table("sink", "delivered", "rows/s", "pending", "ack p50", "p99")
    for lane in now.lanes:
        name = Text(printable(lane.name), style="red" if lane.poisoned else "")
        lanes.add_row(name, f"{lane.delivered:,}", f"{lane.rows_per_second:,.0f}", f"{lane.pending:,}", figures.latency(lane.p50), figures.latency(lane.p99))
    parts += [table for table in (sources, nodes, lanes) if table.row_count]
    parts += [Text(line, style="yellow", overflow="ellipsis", no_wrap=True) for line in _warnings(now)]
    return Group(*parts)


def _table(*headers: str) -> Table:
    """A table without a frame: names on the left, figures on the right; names give way on a narrow terminal."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
    table.add_column(headers[0], min_width=6, no_wrap=True, overflow="ellipsis")
    for header in headers[1:]:
        table.add_column(header, justify="right", no_wrap=True)
    return table


def _warnings(now: Snapshot) -> list[str]:
    """What is not as it should be."""
    out = []
    if now.bad:
        out.append("bad records  " + "  ".join(f"{printable(code)} {rows:,}" for code, rows in now.bad.items()))
    dropped = [f"{printable(s.name)}: {printable(rule)} {rows:,}" for s in now.sources for rule, rows in s.dropped.items()]
    if dropped:
        out.append("left out  " + "  ".join(dropped))
    if now.pressure:
        out.append("pressure  " + "  ".join(f"{stage} {state}" for stage, state in now.pressure.items()))
    return out
