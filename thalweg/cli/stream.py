"""``twg stream``: run a pipeline, show it, stop it by signals. Standard output belongs to a console sink."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING

from rich.console import Console

from thalweg import compose, registry
from thalweg.cli.progress import LiveView, Ticker, fields
from thalweg.cli.summary import start_lines, summary_lines
from thalweg.errors import PipelineError, UserError
from thalweg.model.clock import SystemClock
from thalweg.runtime.stats import Stats

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager
    from types import FrameType

    from thalweg.cli.progress import Log
    from thalweg.plan.graph import Plan
    from thalweg.runtime.loop import Pipeline

_PATIENCE_S = 2.0
"""How long "at once" may take after the second signal before the process ends itself."""


def stream(file: str, *, settings: Mapping[str, str], rewrite: bool, yes: bool, debug: bool) -> int:
    """Run the pipeline of ``file`` and give the exit code; errors are raised for the caller to show."""
    plan = compose.read_plan(file, settings=settings, environ=os.environ, connect=True)
    if rewrite and not _agreed(compose.rewrite_plan(plan), yes=yes):
        return 1
    clock = SystemClock()
    stats = Stats(clock)
    view = _live_view(plan, stats) if not debug else None
    style, level = ("plain", "warning") if view else (plan.settings.log_format, "info")
    log: Log = registry.load("observe", "log").make(view.write if view else _to_stderr, clock, style=style, at_least=level)
    signals = Signals(compose.build(plan, observers=(stats, log), rewrite=rewrite))
    if view:
        _to_stderr("\n".join(start_lines(plan)) + "\n")
    shown: AbstractContextManager[object] = view or Ticker(stats.snapshot, log, plan.settings.log_interval_ns)
    how = "failed"
    try:
        with shown:
            signals.run()
        how = signals.how()
    finally:
        if style == "json":
            log.line("info", "summary", {**fields(stats.snapshot()), "how": how})
        else:
            _to_stderr("\n".join(summary_lines(plan, stats.snapshot(), how=how)) + "\n")
        if rewrite and not stats.snapshot().commits:
            log.line("warning", "rewrite_unfinished", {"message": "nothing is committed since --rewrite removed files: start with --rewrite once more"})
    return signals.code()


class Signals:
    """SIGTERM and SIGINT: the first one drains, the second one leaves at once."""

    def __init__(self, pipeline: Pipeline) -> None:
        """Nothing is caught before ``run``."""
        self._pipeline = pipeline
        self._seen: list[int] = []
        self._leave: threading.Timer | None = None
        self._before: dict[int, Callable[[int, FrameType | None], object] | int | None] = {}

    @property
    def aborted(self) -> bool:
        """Whether there was a second signal."""
        return len(self._seen) > 1

    def code(self) -> int:
        """The exit code of a run that did not fail."""
        if self.aborted or self._seen == [signal.SIGINT]:
            return 128 + self._seen[-1]
        return 0

    def how(self) -> str:
        """Why the run is over, for its summary."""
        if self.aborted:
            late = ", ".join(self._pipeline.left_behind)
            return f"left at once, while {late} was still being written, so there may be more in it than counted here," if late else "left at once"
        return f"drained after {signal.Signals(self._seen[0]).name}" if self._seen else "done"

    def run(self) -> None:
        """Run the pipeline; while it runs, signals are ours. What fails because of a second signal is not an error."""
        for number in (signal.SIGTERM, signal.SIGINT):
            self._before[number] = signal.signal(number, self._take)
        try:
            self._pipeline.run()
        except PipelineError:
            if not self.aborted:
                raise
        finally:
            if self._leave is not None:
                self._leave.cancel()
            for caught, handler in self._before.items():
                signal.signal(caught, handler)

    def _take(self, number: int, _frame: FrameType | None) -> None:
        """Runs on the main thread between two steps of its own."""
        self._seen.append(number)
        if len(self._seen) == 1:
            self._pipeline.stop()
            return
        if self._leave is not None:
            self._leave.cancel()
        self._leave = threading.Timer(_PATIENCE_S, os._exit, (128 + number,))
        self._leave.daemon = True
        self._leave.start()
        self._pipeline.abort()


def _agreed(removals: list[str], *, yes: bool) -> bool:
    """Say what ``--rewrite`` will remove, and ask unless ``--yes``."""
    _to_stderr("--rewrite will remove what earlier runs wrote:\n" if removals else "--rewrite: earlier runs left nothing to remove\n")
    for removal in removals:
        _to_stderr(f"  {removal}\n")
    if yes or not removals:
        return True
    if not sys.stdin.isatty():
        raise UserError("--rewrite removes data and there is no terminal to ask at", hint="add --yes if that is what you want")
    _to_stderr("Remove it and write these records again? [y/N] ")
    if sys.stdin.readline().strip().lower() in {"y", "yes"}:
        return True
    _to_stderr("nothing was removed\n")
    return False


def _live_view(plan: Plan, stats: Stats) -> LiveView | None:
    """A live view where there is a terminal that it can have for itself."""
    console = Console(stderr=True)
    shares_terminal = sys.stdout.isatty() and any(not lane.plugin.capabilities.data for lane in plan.lanes)
    if not console.is_terminal or console.is_dumb_terminal or shares_terminal:
        return None
    return LiveView(stats.snapshot, console)


def _to_stderr(text: str) -> None:
    """Progress never goes to standard output, and a run goes on when nobody reads it."""
    with contextlib.suppress(OSError):
        sys.stderr.write(text)
        sys.stderr.flush()
