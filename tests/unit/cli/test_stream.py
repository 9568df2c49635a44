"""``twg stream``: what is said where, what signals do, and the exit codes."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from thalweg import compose
from thalweg.cli import stream as command
from thalweg.cli.stream import Signals, stream
from thalweg.errors import DrainExpired, UserError
from thalweg.model import events as e
from thalweg.model.position import Partition
from thalweg.ports.sink import Guarantee

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.cli.conftest import Terminal


def plan(log_format: str = "logfmt", *, data: bool = True) -> Any:  # noqa: ANN401 - a Plan in everything that is asked of it
    """A plan with one source and one lane."""
    plugin = SimpleNamespace(capabilities=SimpleNamespace(data=data))
    lane = SimpleNamespace(name="clean", kind="PARQUET", location="./out/", guarantee=Guarantee.EXACTLY_ONCE, gates=True, plugin=plugin)
    settings = SimpleNamespace(name="shop", log_format=log_format, log_interval_ns=5_000_000)
    return SimpleNamespace(settings=settings, sources=[], lanes=[lane])


class FakePipeline:
    """Does what a test says, on the thread that runs it; signals reach ``calls``."""

    def __init__(self, act: Callable[[FakePipeline], None]) -> None:
        """``act`` is the run."""
        self.act, self.calls, self.observers, self.left_behind = act, list[str](), (), tuple[str, ...]()

    def run(self) -> None:
        """The whole run."""
        self.act(self)

    def stop(self) -> None:
        """First signal."""
        self.calls.append("stop")

    def abort(self) -> None:
        """Second signal."""
        self.calls.append("abort")


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Callable[..., FakePipeline]:
    """Puts a fake pipeline in the place of the real one."""

    def put(act: Callable[[FakePipeline], None], planned: Any = None, removals: tuple[str, ...] = ()) -> FakePipeline:  # noqa: ANN401 - see plan()
        pipeline = FakePipeline(act)
        monkeypatch.setattr(compose, "read_plan", lambda *_, **__: planned or plan())
        monkeypatch.setattr(compose, "rewrite_plan", lambda _: list(removals))

        def build(_plan: object, *, observers: Any, rewrite: bool) -> FakePipeline:  # noqa: ANN401 - observers
            pipeline.observers = observers
            pipeline.calls += ["rewrite"] if rewrite else []
            return pipeline

        monkeypatch.setattr(compose, "build", build)
        return pipeline

    return put


def run(**options: Any) -> int:  # noqa: ANN401 - options of the command
    """``twg stream p.sql``."""
    return stream("p.sql", **{"settings": {}, "rewrite": False, "yes": False, "debug": False, **options})


def tell(pipeline: FakePipeline, *facts: e.Event) -> None:
    """Facts to every observer."""
    for fact in facts:
        for observer in pipeline.observers:
            observer.on(fact)


def test_a_bounded_end_is_0(started: Callable[..., FakePipeline], capsys: pytest.CaptureFixture[str]) -> None:
    """Log lines and the summary go to standard error, nothing to standard output (CLI-02)."""
    started(lambda p: tell(p, e.PipelineStarted("shop", {}), e.Delivered("clean", 1, 5, 0, (0.1,))))

    assert run() == 0

    said = capsys.readouterr()
    assert said.out == ""
    assert "event=started pipeline=shop" in said.err
    assert "shop: done after" in said.err
    assert 'twg repl -c "CREATE EXTERNAL TABLE clean' in said.err


def test_json_logs_stay_json(started: Callable[..., FakePipeline], capsys: pytest.CaptureFixture[str]) -> None:
    """With log.format json every line of standard error is an object, the summary too."""
    started(lambda p: tell(p, e.PipelineStarted("shop", {})), plan("json"))

    assert run() == 0
    assert [json.loads(line)["event"] for line in capsys.readouterr().err.splitlines()][-1] == "summary"


@pytest.mark.parametrize(
    ("signals", "code", "calls"),
    [
        ([signal.SIGTERM], 0, ["stop"]),
        ([signal.SIGINT], 130, ["stop"]),
        ([signal.SIGINT, signal.SIGINT], 130, ["stop", "abort"]),
        ([signal.SIGINT, signal.SIGTERM], 143, ["stop", "abort"]),
        ([signal.SIGTERM, signal.SIGTERM], 143, ["stop", "abort"]),
    ],
)
def test_signals_drain_then_leave(
    started: Callable[..., FakePipeline], signals: list[int], code: int, calls: list[str]
) -> None:
    """The first signal drains, the second one leaves at once; the codes are those of design and shells (CL-01)."""
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    pipeline = started(lambda _: [os.kill(os.getpid(), number) for number in signals])

    assert run() == code
    assert pipeline.calls == calls
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


def test_a_summary_that_may_be_short_says_so(started: Callable[..., FakePipeline], capsys: pytest.CaptureFixture[str]) -> None:
    """Where a target was still at work after the second signal, its figures are not called final (CL-01)."""

    def act(pipeline: FakePipeline) -> None:
        for number in (signal.SIGINT, signal.SIGINT):
            os.kill(os.getpid(), number)
        pipeline.left_behind = ("clean",)

    started(act)

    assert run() == 130
    assert "shop: left at once, while clean was still being written, so there may be more in it than counted here, after" in capsys.readouterr().err


def test_a_run_that_does_not_leave_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the second signal the process ends itself when the pipeline takes too long (CL-01)."""
    ended: list[int] = []
    monkeypatch.setattr(command.os, "_exit", ended.append)
    monkeypatch.setattr(command, "_PATIENCE_S", 0.01)

    def act(_: FakePipeline) -> None:
        for number in (signal.SIGTERM, signal.SIGTERM):
            os.kill(os.getpid(), number)
        while not ended:
            pass

    Signals(FakePipeline(act)).run()  # type: ignore[arg-type]

    assert ended == [143]


def test_a_deadline_that_passed_is_an_error(started: Callable[..., FakePipeline], capsys: pytest.CaptureFixture[str]) -> None:
    """What the pipeline raises comes out, after a summary that says so; after a second signal nobody wants to hear it (CL-01)."""

    def fail(pipeline: FakePipeline) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        raise DrainExpired("30 s have passed")

    started(fail)

    with pytest.raises(DrainExpired):
        run()
    assert "shop: failed after" in capsys.readouterr().err

    def fail_late(pipeline: FakePipeline) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        fail(pipeline)

    started(fail_late)
    assert run() == 143


def test_rewrite_says_what_it_removes(started: Callable[..., FakePipeline], capsys: pytest.CaptureFixture[str]) -> None:
    """With --yes it is shown and done; without a terminal to ask at it is refused (CLI-02)."""
    pipeline = started(lambda _: None, removals=("./out/: 3 files",))

    assert run(rewrite=True, yes=True) == 0
    assert "./out/: 3 files" in capsys.readouterr().err
    assert pipeline.calls == ["rewrite"]

    with pytest.raises(UserError, match="no terminal"):
        run(rewrite=True)


def test_a_rewrite_that_committed_nothing_says_so(started: Callable[..., FakePipeline], capsys: pytest.CaptureFixture[str]) -> None:
    """The group's offsets still stand behind what was removed: only another --rewrite writes it again."""
    p = Partition("orders", "orders", 0)
    started(lambda _: None, removals=("./out/",))
    run(rewrite=True, yes=True)
    assert "event=rewrite_unfinished" in capsys.readouterr().err

    started(lambda made: tell(made, e.Assigned("orders", {p: 0}, {}), e.OffsetsCommitted("orders", {p: 0})), removals=("./out/",))
    run(rewrite=True, yes=True)
    assert "rewrite_unfinished" not in capsys.readouterr().err


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("no\n", 1), ("", 1)])
def test_rewrite_asks(started: Callable[..., FakePipeline], monkeypatch: pytest.MonkeyPatch, terminal: Terminal, answer: str, code: int) -> None:
    """Only a yes removes anything."""
    pipeline = started(lambda _: None, removals=("./out/",))
    terminal.write(answer)
    terminal.seek(0)
    monkeypatch.setattr(sys, "stdin", terminal)

    assert run(rewrite=True) == code
    assert pipeline.calls == (["rewrite"] if code == 0 else [])


def test_nothing_to_remove_is_not_asked_about(started: Callable[..., FakePipeline], capsys: pytest.CaptureFixture[str]) -> None:
    """A first run with --rewrite just runs."""
    started(lambda _: None)

    assert run(rewrite=True) == 0
    assert "nothing to remove" in capsys.readouterr().err


def test_a_terminal_gets_a_live_view(started: Callable[..., FakePipeline], monkeypatch: pytest.MonkeyPatch, terminal: Terminal) -> None:
    """On a terminal there is a picture, warnings above it, and start and end as text."""
    monkeypatch.setattr(sys, "stderr", terminal)
    started(lambda p: tell(p, e.PipelineStarted("shop", {"schema": "x"}), e.Rewound("taken"), e.Polled("orders", 5, 10, 0)))

    assert run() == 0

    shown = terminal.getvalue()
    assert shown.startswith("pipeline shop\n")
    assert "warning rewound reason=taken" in shown
    assert "started" not in shown
    assert "shop: done" in shown


def test_a_console_sink_has_its_terminal_for_itself(
    started: Callable[..., FakePipeline], monkeypatch: pytest.MonkeyPatch, terminal: Terminal
) -> None:
    """A live view would be drawn over the rows of a console: there are log lines instead."""
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(sys, "stdout", terminal)
    started(lambda p: tell(p, e.PipelineStarted("shop", {})), plan(data=False))

    assert run() == 0
    assert "event=started" in terminal.getvalue()
    assert "\x1b[?25l" not in terminal.getvalue()


def test_a_closed_standard_error_stops_nothing(started: Callable[..., FakePipeline], monkeypatch: pytest.MonkeyPatch) -> None:
    """The run goes on when nobody reads its progress (CL-02)."""

    class Closed(io.StringIO):
        def write(self, _: str) -> int:
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stderr", Closed())
    started(lambda p: tell(p, e.PipelineStarted("shop", {})))

    assert run() == 0
