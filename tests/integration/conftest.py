"""Whole pipelines inside one process: SQL text in, rows out, every part real but the transport."""

from __future__ import annotations

import dataclasses
import itertools
import json
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from thalweg import compose, registry
from thalweg.model.clock import SystemClock
from thalweg.model.events import Fanout
from thalweg.ports.source import SourceContext
from thalweg.sinks.memory.store import STORE
from thalweg.testing.fakes import RecordingObserver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from thalweg.plan.graph import Lane as LanePlan
    from thalweg.ports.sink import Sink
    from thalweg.runtime.loop import Pipeline
    from thalweg.sources.memory import MemoryTopic

_numbers = itertools.count()


@dataclass(slots=True)
class Lab:
    """One pipeline file, its topics and targets; names are unique in the process."""

    folder: Path
    number: int = field(default_factory=lambda: next(_numbers))
    seen: RecordingObserver = field(default_factory=RecordingObserver)
    wrap: dict[str, Callable[[Sink], Sink]] = field(default_factory=dict)
    """By lane: what to put around its sink."""
    pipeline: Pipeline | None = None
    thread: threading.Thread | None = None
    error: BaseException | None = None

    def name(self, text: str) -> str:
        """``{t}`` and ``{out}`` become names that nobody else uses."""
        return text.replace("{t}", f"lab{self.number}").replace("{out}", str(self.folder / "out"))

    def topic(self, name: str = "orders", partitions: int = 1) -> MemoryTopic:
        """The topic ``{t}-name``."""
        plugin = registry.load("sources", "memory")
        context = SourceContext("lab", "lab", SystemClock(), Fanout(), group=False)
        topic: MemoryTopic = plugin.make(f"memory://lab{self.number}-{name}", plugin.options(partitions=partitions), context).topic
        return topic

    def fill(self, *values: object, topic: str = "orders", partitions: int = 1) -> None:
        """JSON documents (or raw bytes, or None) in turn over the partitions."""
        target = self.topic(topic, partitions)
        for i, value in enumerate(values):
            payload = value if isinstance(value, bytes | None) else json.dumps(value).encode()
            target.append(i % partitions, payload)

    def build(self, sql: str, **settings: str) -> Pipeline:
        """Plan and wire."""
        file = self.folder / "pipeline.sql"
        file.write_text(self.name(sql))
        dotted = {"decode.kernels": "off"} | {key.replace("__", "."): value for key, value in settings.items()}
        plan = compose.read_plan(str(file), settings=dotted, environ={}, connect=True)
        lanes = tuple(self._wrapped(lane) if lane.name in self.wrap else lane for lane in plan.lanes)
        plan = dataclasses.replace(plan, lanes=lanes)
        self.pipeline = compose.build(plan, observers=(self.seen,))
        return self.pipeline

    def _wrapped(self, lane: LanePlan) -> LanePlan:
        """A lane whose plug-in makes a wrapped sink."""
        inner, wrap = lane.plugin.make, self.wrap[lane.name]
        plugin = dataclasses.replace(lane.plugin, make=lambda target, context: wrap(inner(target, context)))
        return dataclasses.replace(lane, plugin=plugin)

    def run(self, sql: str, **settings: str) -> None:
        """Run to the bounded end; raises what the run raises."""
        self.build(sql, **settings).run()

    def run_compiled(self, sql: str, **settings: str) -> None:
        """Run to the bounded end with compiled decoders from the first record on; raises what the run raises."""
        pipeline = self.build(sql, **settings)
        for flow in pipeline._machine.epochs._flows.values():
            for side in flow.decoding.sides:
                assert side.codec.fast is not None
                made = registry.attribute(side.codec.fast)(side.request, side.asked, side.reference)
                assert made is not None
                flow.decoding.use(side, made)
        pipeline.run()

    def start(self, sql: str, **settings: str) -> None:
        """Run in the background; ``stop`` ends it."""
        pipeline = self.build(sql, **settings)

        def run() -> None:
            try:
                pipeline.run()
            except BaseException as e:  # noqa: BLE001 - kept for the test
                self.error = e

        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()

    def stop(self) -> None:
        """Drain and end; raises what the run raised."""
        assert self.pipeline is not None
        assert self.thread is not None
        self.pipeline.stop()
        self.thread.join(40)
        assert not self.thread.is_alive()
        if self.error is not None:
            raise self.error

    def rows(self, target: str) -> list[dict[str, Any]]:
        """What ``memory://{t}-target`` holds."""
        return STORE.rows(f"memory://lab{self.number}-{target}")

    def column(self, target: str, name: str) -> list[Any]:
        """One column of it."""
        return [row[name] for row in self.rows(target)]


def until(condition: Callable[[], bool], seconds: float = 15) -> None:
    """Wait, but not for ever."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError(f"did not happen in {seconds} s")


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    """A pipeline that is ended after the test, whatever happened."""
    made = Lab(tmp_path)
    yield made
    if made.pipeline is not None and made.thread is not None and made.thread.is_alive():
        made.pipeline.abort()
        made.thread.join(10)
