"""Looking at a stream: everything up to now, types unchanged, bounded on disk, nothing committed."""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from thalweg import compose, config, registry
from thalweg.dialect.script import parse
from thalweg.engine.session import Session
from thalweg.errors import SourceFailed, UserError
from thalweg.model.clock import SystemClock
from thalweg.model.events import Fanout
from thalweg.plan.planner import PlanRequest, make_plan
from thalweg.ports.source import SourceContext
from thalweg.runtime.snapshot import Look, Stored, from_now_on, up_to_now
from thalweg.runtime.upgrade import Upgrade

if TYPE_CHECKING:
    from pathlib import Path

    from thalweg.plan.graph import Plan

_NUMBERS = itertools.count()
GOOD = [b'{"id": 1, "name": "a"}', b'{"id": 2, "name": null}', b'{"id": 3, "name": ""}']


class Stream:
    """A table over a memory topic of its own."""

    def __init__(self, columns: str = "id BIGINT NOT NULL, name STRING", options: str = "") -> None:
        """Plan it; the topic is empty."""
        self.name = f"snap{os.getpid()}_{next(_NUMBERS)}"
        text = f"CREATE EXTERNAL TABLE t ({columns}) STORED AS MEMORY LOCATION 'memory://{self.name}' OPTIONS ('format' 'json'{options});"
        request = PlanRequest(config.layers({}, {}), connect=False, base=".", need_copy=False, bounded=True)
        self.plan: Plan = make_plan(parse(text, "t.sql", {}), request, Session())
        self.table = self.plan.sources[0]
        source: Any = self.table.plugin.make(self.table.location, self.table.options, SourceContext("p", "t", SystemClock(), Fanout()))
        self.topic = source.topic

    def add(self, *payloads: bytes | None) -> None:
        """More records."""
        for payload in payloads:
            self.topic.append(0, payload)

    def look(self, table: Any = None, *, compiled: Upgrade | None = None) -> Look:  # noqa: ANN401 - a SourceTable
        """Open it for looking."""
        table = table or up_to_now(self.table)
        source, decoding = compose.open_source(self.plan, table, Fanout(), group=False)
        return Look(table, source, decoding, compiled, prefix="_twg_", pipeline="p")


def rows(stored: Stored) -> list[dict[str, Any]]:
    """What is on disk."""
    kind = "ipc" if stored.kind == "ARROW" else "parquet"
    found: list[dict[str, Any]] = ds.dataset(stored.folder, format=kind).to_table().to_pylist()
    return found


def test_a_snapshot_holds_everything_up_to_now(tmp_path: Path) -> None:
    """Records, bad ones and tombstones: each in its relation, counted, none fatal although the table says fail (CLI-07)."""
    stream = Stream()
    stream.add(*GOOD, b"broken", None, b'{"name": "no id"}')
    seen: list[tuple[int, int | None]] = []

    with stream.look() as look:
        stored = {s.name: s for s in look.store(["t", "raw.t", "dlq.t", "dlq.all"], tmp_path, 1 << 20, lambda *a: seen.append(a))}

    assert [r["id"] for r in rows(stored["t"])] == [1, 2, 3]
    assert [r["payload"] for r in rows(stored["raw.t"])] == [*GOOD, b"broken", None, b'{"name": "no id"}']
    assert [r["_twg_error_code"] for r in rows(stored["dlq.t"])] == ["decode.malformed", "decode.not_null"]
    assert len(rows(stored["dlq.all"])) == 2
    assert (look.counts.rows, look.counts.tombstones, sum(look.counts.bad.values())) == (6, 1, 2)
    assert look.counts.example is not None
    assert "offset 3" in look.counts.example
    assert seen[-1] == (6, 0)


def test_nothing_is_committed_and_nothing_is_joined(tmp_path: Path) -> None:
    """A look leaves no position behind (CLI-07)."""
    stream = Stream()
    stream.add(*GOOD)

    with stream.look() as look:
        look.store(["t"], tmp_path, 1 << 20, lambda *_: None)

    assert stream.topic.committed("p", 0) is None
    assert stream.topic.committed("t", 0) is None


def test_only_what_is_asked_for_is_decoded(tmp_path: Path) -> None:
    """The raw lane alone needs no codec: undecodable records are no bad ones there (REP-02)."""
    stream = Stream()
    stream.add(b"broken")

    with stream.look() as look:
        (stored,) = look.store(["raw.t"], tmp_path, 1 << 20, lambda *_: None)

    assert len(rows(stored)) == 1
    assert not look.counts.bad


def test_an_empty_stream_gives_an_empty_file(tmp_path: Path) -> None:
    """No record: the relation is there, with its columns."""
    with Stream().look() as look:
        (stored,) = look.store(["t"], tmp_path, 1 << 20, lambda *_: None)

    assert rows(stored) == []
    assert ds.dataset(stored.folder).schema.names == ["id", "name"]


def test_a_snapshot_has_a_limit(tmp_path: Path) -> None:
    """Beyond the limit the error says which setting raises it, and the source is closed (CLI-07)."""
    stream = Stream()
    stream.add(*GOOD)

    with stream.look() as look, pytest.raises(UserError, match="larger than 10 bytes after 3 records") as refused:
        look.store(["t"], tmp_path, 10, lambda *_: None)

    assert "repl.snapshot.bytes" in str(refused.value.hint)


@pytest.mark.parametrize(
    ("columns", "kind"), [("a STRING, b BIGINT", "PARQUET"), ("a TIMESTAMP(3)", "PARQUET"), ("a ARRAY<STRING>, b MAP<STRING, INT>", "ARROW")]
)
def test_types_come_back_unchanged(columns: str, kind: str, tmp_path: Path) -> None:
    """Whatever the columns, the engine reads the types that the table declares; Parquet only where it keeps them."""
    stream = Stream(columns)
    with stream.look() as look:
        (stored,) = look.store(["t"], tmp_path, 1 << 20, lambda *_: None)

    schema = Session().create_static(stored.statement('"t"'), "t")

    assert schema == stream.table.schema
    assert stored.kind in {kind, "PARQUET"}


def test_a_tail_begins_where_it_is_told_and_never_ends() -> None:
    """From now on: what was there before is not shown; from the start: it is. Bounded mode of the table does not count."""
    stream = Stream(options=", 'scan.bounded.mode' 'latest-offset'")
    stream.add(GOOD[0])

    with stream.look(from_now_on(stream.table, start="latest")) as look:
        batches = look.batches(["t"])
        assert next(batches) == {}
        stream.add(GOOD[1])
        assert next(batches)["t"].to_pylist() == [{"id": 2, "name": None}]
        assert next(batches) == {}
    with stream.look(from_now_on(stream.table, start="earliest")) as look:
        assert next(look.batches(["t"]))["t"].num_rows == 2


def test_a_source_without_an_end_is_refused() -> None:
    """A transport that cannot be bounded has no snapshot, and the error says what works."""
    table = Stream().table
    object.__setattr__(table, "plugin", _Endless(table.plugin))

    with pytest.raises(UserError, match="no bounded mode"):
        up_to_now(table)


def test_a_source_that_does_not_open_is_closed() -> None:
    """Closing happens also when connecting failed; the error passes through."""
    stream = Stream()
    look = stream.look()
    closed: list[bool] = []
    look._source = _Refusing(closed)  # type: ignore[assignment]

    with pytest.raises(SourceFailed, match="down"), look:
        pass

    assert closed == [True]


def test_wide_schemas_fall_back_to_arrow(tmp_path: Path) -> None:
    """A type that Parquet would change is kept in Arrow files; the engine reads them the same."""
    stream = Stream()
    schema = pa.schema([("id", pa.int64()), ("when", pa.timestamp("s"))])
    object.__setattr__(stream.table, "schema", schema)
    look = Look(stream.table, registry.load("sources", "memory").make(stream.table.location, stream.table.options, _context()), _Rows(schema), prefix="_twg_", pipeline="p")  # type: ignore[arg-type]
    stream.add(b"{}")
    object.__setattr__(stream.table.options, "bounded_mode", "latest-offset")

    with look:
        (stored,) = look.store(["t"], tmp_path, 1 << 20, lambda *_: None)

    assert stored.kind == "ARROW"
    assert Session().create_static(stored.statement('"t"'), "t") == schema


def _context() -> SourceContext:
    """A context outside of any group."""
    return SourceContext("p", "t", SystemClock(), Fanout(), group=False)


class _Endless:
    """A plug-in whose source has no bounded mode."""

    def __init__(self, plugin: Any) -> None:  # noqa: ANN401 - a SourcePlugin
        """Everything else is the real one's."""
        self.capabilities = type("Capabilities", (), {"bounded": False})()
        self.plugin = plugin


class _Refusing:
    """A source that cannot be opened."""

    def __init__(self, closed: list[bool]) -> None:
        """``closed`` hears of the close."""
        self._closed = closed

    def open(self, _listener: object) -> None:
        """Nobody answers."""
        raise SourceFailed("the broker is down")

    def close(self) -> None:
        """Remember it."""
        self._closed.append(True)


class _Rows:
    """A decoding that gives one row for each record."""

    def __init__(self, schema: pa.Schema) -> None:
        """Columns are NULL."""
        self._schema = schema.append(pa.field("_twg_row", pa.int32()))

    def close(self) -> None:
        """Holds nothing."""

    def relation(self, raw: Any, _meta: Any = None) -> Any:  # noqa: ANN401 - RawBatch to Rows
        """NULLs and row numbers."""
        columns = [*(pa.nulls(raw.rows, f.type) for f in list(self._schema)[:-1]), pa.array(range(raw.rows), pa.int32())]
        bad = type("Bad", (), {"codes": [], "rows": [], "messages": [], "__len__": lambda _self: 0})()
        return type("Rows", (), {"batch": pa.RecordBatch.from_arrays(columns, schema=self._schema), "bad": bad, "tombstones": 0})()


class Watched(Upgrade):
    """Notes when it is started and stopped."""

    def __init__(self) -> None:
        """Nothing yet."""
        super().__init__([], Fanout())
        self.calls: list[str] = []

    def start(self) -> None:
        """Noted."""
        self.calls.append("start")

    def stop(self, *, go_on: bool) -> None:
        """Noted."""
        self.calls.append(f"stop, go on: {go_on}")


def test_compiled_decoders_are_brought_while_it_is_open(tmp_path: Path) -> None:
    """They are asked for once the source is connected, and given up when the look is over (CLI-07)."""
    stream, watched = Stream(), Watched()
    stream.add(*GOOD)

    with stream.look(compiled=watched) as look:
        assert watched.calls == ["start"]
        look.store(["t"], tmp_path, 1 << 20, lambda _rows, _left: None)

    assert watched.calls == ["start", "stop, go on: True"]


def test_a_question_that_is_broken_off_ends_the_compiler() -> None:
    """Only where nothing goes wrong does a compiler go on beyond the look."""
    stream, watched = Stream(), Watched()

    with pytest.raises(KeyboardInterrupt), stream.look(compiled=watched):
        raise KeyboardInterrupt

    assert watched.calls == ["start", "stop, go on: False"]
