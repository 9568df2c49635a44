"""The wiring: a file and its settings to a plan, a plan to a pipeline. Plug-ins come by name, through the registry."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from thalweg import __version__, config, registry, resources
from thalweg.dialect.script import parse
from thalweg.engine.session import Session
from thalweg.errors import Location, ScriptError, ScriptErrors, UserError
from thalweg.model import options
from thalweg.model.clock import SystemClock
from thalweg.model.events import Fanout, Notice
from thalweg.plan.planner import PlanRequest, make_plan
from thalweg.ports.sink import SinkContext, Target
from thalweg.ports.source import SourceContext
from thalweg.runtime import acks
from thalweg.runtime.commit import Committer
from thalweg.runtime.dag import Dag
from thalweg.runtime.decode import Decoding, Side
from thalweg.runtime.epoch import Branch, Epochs, SourceFlow
from thalweg.runtime.filling import filled
from thalweg.runtime.lanes import Lane, LaneEvents, TokenT
from thalweg.runtime.lineage import RecordIds
from thalweg.runtime.loop import Failure, Machine, Pipeline
from thalweg.runtime.queues import ByteQueue
from thalweg.runtime.reader import Reader
from thalweg.runtime.rewind import Rewinder
from thalweg.runtime.upgrade import Upgrade

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from thalweg.model.clock import Clock
    from thalweg.model.events import Observer
    from thalweg.model.position import Partition, TopicIdentity
    from thalweg.plan.graph import Lane as LanePlan
    from thalweg.plan.graph import PayloadFormat, Plan, SourceTable
    from thalweg.ports.schemas import SchemaRegistry
    from thalweg.ports.sink import Sink
    from thalweg.ports.source import Source


def read_plan(path: str, *, settings: Mapping[str, str], environ: Mapping[str, str], connect: bool) -> Plan:
    """Read, parse and plan a pipeline file.

    ``settings`` are the command line's; ``connect`` allows questions to schema registries. Raises ScriptErrors with every error of the file,
    UserError for a file that cannot be read.
    """
    file = Path(path)
    script = parse(_text(path), path, environ)
    request = PlanRequest(config.layers(settings, environ, file), connect, str(file.parent))
    return make_plan(script, request, Session())


def _text(path: str) -> str:
    """The file's text; a place that is no UTF-8 is an error like any other."""
    try:
        content = Path(path).read_bytes()
    except OSError as e:
        raise UserError(f"cannot read {path}: {e.strerror}") from e
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        before = content[: e.start].decode("utf-8-sig")
        line = content[: e.start].rsplit(b"\n", 1)[-1] + content[e.start :].split(b"\n", 1)[0]
        place = Location(path, before.count("\n") + 1, len(before.rsplit("\n", 1)[-1]) + 1, line.decode("utf-8-sig", "backslashreplace").rstrip("\r"))
        raise ScriptErrors([ScriptError(f"byte 0x{content[e.start]:02x} is not UTF-8", place, hint="save the file as UTF-8")]) from e


def build(plan: Plan, *, observers: tuple[Observer, ...] = (), rewrite: bool = False, clock: Clock | None = None) -> Pipeline:
    """Wire a pipeline; connects to nothing but schema registries. With ``rewrite`` the targets' records and files are removed first."""
    return _Wiring(plan, Fanout(observers), clock or SystemClock()).pipeline(rewrite=rewrite)


def rewrite_plan(plan: Plan) -> list[str]:
    """What ``--rewrite`` would remove, in words."""
    wiring = _Wiring(plan, Fanout(), SystemClock())
    return [line for lane in plan.lanes for line in lane.plugin.rewrite_plan(wiring.target(lane), wiring.sink_context(lane))]


def open_source(plan: Plan, table: SourceTable, observer: Observer, *, group: bool = False) -> tuple[Source, Decoding]:
    """A source and its decoding, outside of any pipeline; with ``group`` False it joins no group and never commits."""
    wiring = _Wiring(plan, observer, SystemClock())
    return wiring.source(table, group=group), wiring.decoding(table)


class _Wiring:
    """Makes the parts of one pipeline, each once."""

    def __init__(self, plan: Plan, observer: Observer, clock: Clock) -> None:
        """Nothing is made yet."""
        self._plan, self._observer, self._clock = plan, observer, clock
        self._failure = Failure()
        self._sources: dict[str, Source] = {}
        self._registries: dict[tuple[str | None, ...], SchemaRegistry] = {}
        self._decodings: dict[str, Decoding] = {}

    # -- single parts
    def target(self, lane: LanePlan) -> Target:
        """What a sink plug-in is asked about."""
        return Target(lane.location, lane.options, lane.schema, lane.partition_by)

    def sink_context(self, lane: LanePlan) -> SinkContext:
        """What a sink is given."""
        settings = self._plan.settings
        if lane.schema is None:
            raise UserError(f"the schema of {lane.relation} is not resolved", hint="the registry was not asked")
        return SinkContext(
            settings.name, lane.relation, lane.schema, lane.partition_by, settings.metadata_prefix, self._identity, self._clock, self._observer, __version__
        )

    def _identity(self, partition: Partition) -> TopicIdentity:
        """Cluster and topic id, from the source that has the partition."""
        return self._sources[partition.source].identity(partition)

    def source(self, table: SourceTable, *, group: bool = True) -> Source:
        """The source of a table; quickstart data is made and filled in here, since that takes an engine and an encoder."""
        folder = str(Path(self._plan.source.file).parent)
        blocks = None if table.plugin.format is None else self.decoding(table).sides[0].reference.blocks
        context = SourceContext(
            self._plan.settings.name, table.name, self._clock, self._observer, group, folder, blocks, self._failure.stopping.is_set
        )
        source: Source = table.plugin.make(table.location, table.options, context)
        self._sources[table.name] = source
        query = table.plugin.query_file(table.location, table.options)
        if query is not None and table.plugin.fill is not None:
            table.plugin.fill(source, self._encoded(table, resources.find(query, folder)))
        return source

    def _encoded(self, table: SourceTable, file: Path) -> Iterator[bytes]:
        """The rows of the one SELECT in ``file``, each encoded in the table's format."""
        encode_row = table.value.codec.encode_row
        if encode_row is None:
            raise UserError(f"format '{table.value.request.format}' has no encoder for test data", where=str(table.at), hint="use a .jsonl file")
        return filled(table.name, file, encode_row(table.value.request, self._registry(table.value)), self._observer)

    def decoding(self, table: SourceTable) -> Decoding:
        """The decoders of a table, made once."""
        if table.name not in self._decodings:
            self._decodings[table.name] = Decoding(table, self._side(table.value), self._side(table.key) if table.key is not None else None)
        return self._decodings[table.name]

    def _side(self, side: PayloadFormat) -> Side:
        """One side's decoder and what a faster one needs to know."""
        asked = self._registry(side)
        return Side(side.codec, side.request, asked, side.codec.decoder(side.request, asked))

    def _registry(self, side: PayloadFormat) -> SchemaRegistry | None:
        """The registry that a format needs; tables that name the same one in the same way share it."""
        if side.registry is None:
            return None
        kind, url = side.registry
        plugin = registry.load("registries", kind)
        read = [doc.key for doc in options.docs(plugin.options)] if plugin.options is not None else []
        key = (kind, url, *(side.registry_options.get(name) for name in read))
        if key not in self._registries:
            self._registries[key] = plugin.make(url, side.registry_options)
        return self._registries[key]

    def sink(self, lane: LanePlan) -> Sink:
        """The sink of a lane."""
        return lane.plugin.make(self.target(lane), self.sink_context(lane))

    # -- the whole
    def pipeline(self, *, rewrite: bool) -> Pipeline:
        """Every part, joined."""
        plan, settings, clock, observer = self._plan, self._plan.settings, self._clock, self._observer
        if rewrite:
            for lane in plan.lanes:
                lane.plugin.rewrite(self.target(lane), self.sink_context(lane))
        failure, ledger = self._failure, acks.Ledger()
        used = [table for table in plan.sources if any(table.name in lane.sources for lane in plan.lanes)]
        self._warn_of_unread(used)
        work: ByteQueue[Any] = ByteQueue("worker", settings.queue_bytes, clock, observer)
        rewinder = Rewinder(ledger, observer, failure.is_set)
        branches = self._branches(ledger, failure, rewinder)
        rewinder.lanes = tuple(b.lane for b in branches)
        session = self._session()
        readers, flows = [], {}
        for table in used:
            source, mine = self.source(table), tuple(b for b in branches if table.name in b.plan.sources)
            gating = [b.lane for b in mine if b.plan.gates]
            committer = Committer(
                source, table.name, settings.name, gating, ledger, clock, observer, settings.commit_interval_ns, start_over=rewrite
            )
            readers.append(Reader(table.name, source, committer, [b.lane for b in mine], work, ledger, rewinder, settings, clock, observer))
            dag = Dag(plan, table.name, session, observer, isolating=table.sql_on_error == "dlq")
            flows[table.name] = SourceFlow(table, self.decoding(table), dag, mine, committer.records, self._identity)
        ids = RecordIds()
        epochs = Epochs(flows, settings, ledger, clock, observer, failure.stopping, ids)
        shown = ids if any(_shows_ids(flow, settings.metadata_prefix) for flow in flows.values()) else None
        upgrade = Upgrade([flow.decoding for flow in flows.values()], observer, shown) if settings.kernels else None
        machine = Machine(settings.name, readers, rewinder.lanes, epochs, work, ledger, failure, upgrade, self._facts(), settings.drain_deadline_ns)
        return Pipeline(machine, clock, observer)

    def _warn_of_unread(self, used: list[SourceTable]) -> None:
        """A table that nobody reads is not opened, and so its topic is not filled."""
        for table in self._plan.sources:
            for key in () if table in used else table.plugin.files(table.location, table.options):
                text = f"{table.name}: no COPY reads this table, so its '{key}' is not used and its topic is not filled: COPY it, or a lane of it, to any target"
                self._observer.on(Notice("warning", "embedded.unread", text))

    def _branches(self, ledger: acks.Ledger, failure: Failure, rewinder: Rewinder) -> list[Branch]:
        """Every lane with its sink and token."""
        def confirmed(generation: int, token: acks.Token, epochs: list[int]) -> None:
            if isinstance(token, acks.RawAnchor):
                ledger.confirm(generation, token, epochs)

        events = LaneEvents(confirmed, lambda _lane, error: failure.set(error), lambda _lane, error: rewinder.request(str(error)))
        out = []
        for plan in self._plan.lanes:
            anchored = self._lane(plan, acks.RawAnchor(plan.name), events) if plan.gates else self._lane(plan, acks.NoCommit(plan.name), events)
            out.append(Branch(plan, anchored))
        return out

    def _lane(self, plan: LanePlan, token: TokenT, events: LaneEvents) -> Lane[TokenT]:
        """One lane; its token says what its confirmations may move."""
        sink = self.sink(plan)
        return Lane(
            plan.name, sink, token, queue_bytes=self._plan.settings.queue_bytes, events=events, clock=self._clock, observer=self._observer
        )

    def _session(self) -> Session:
        """The session of the worker thread, with the static tables in it."""
        session = Session()
        for table in self._plan.statics:
            session.create_static(table.statement, table.name)
        for node in self._plan.nodes:
            if not node.sources:
                session.bind(node.name, node.sql)
        return session

    def _facts(self) -> dict[str, str]:
        """What the start log says."""
        plan = self._plan
        facts = {"pipeline": plan.settings.name}
        for table in plan.sources:
            facts[f"source {table.name}"] = f"{table.kind} {table.plugin.describe_start(table.location, table.options)}".strip()
            wanted = table.value.request.wanted
            if wanted is not None and table.schema is not None:
                read = [name for name in table.schema.names if name in wanted]
                facts[f"reads {table.name}"] = f"{', '.join(read) or 'no column'} ({len(read)} of {len(table.schema)} columns; the others are checked only)"
        for node in plan.nodes:
            if node.made is not None and node.schema is not None:
                facts[f"makes {node.name}"] = f"{', '.join(node.made) or 'no column'} ({len(node.made)} of {len(node.schema)} columns; nobody reads the others)"
        for lane in plan.lanes:
            facts[f"sink {lane.name}"] = f"{lane.kind} {lane.guarantee.value}" + (", gates the source" if lane.gates else "")
        return facts


def _shows_ids(flow: SourceFlow, prefix: str) -> bool:
    """Whether an epoch of this source needs record ids: a raw or dead-letter lane is read, a sink or the table has the column."""
    read = flow.dag.reads | {b.plan.relation for b in flow.branches}
    shown = any(b.plan.schema is not None and f"{prefix}record_id" in b.plan.schema.names for b in flow.branches)
    declared = any(column.key == "record_id" for column in flow.table.metadata)
    return shown or declared or any(name.startswith(("raw.", "dlq.")) for name in read)
