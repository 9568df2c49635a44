"""The queries of one epoch: nodes in order, shared ones materialised once, errors narrowed down to their rows."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from thalweg.arrow import metadata
from thalweg.arrow.unread import Unread
from thalweg.errors import QueryFailed
from thalweg.model.events import NodeRan
from thalweg.runtime import statics
from thalweg.runtime.isolate import isolate

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from thalweg.arrow.batch import BadRows
    from thalweg.engine.session import Session
    from thalweg.model.events import Observer
    from thalweg.plan.graph import Node, Plan, SourceTable

ROW_FIELD = pa.field(metadata.ROW, pa.int32(), nullable=False)


@dataclass(slots=True)
class Results:
    """What the nodes of one epoch gave."""

    rows: dict[str, list[pa.RecordBatch]] = field(default_factory=dict)
    """Batches of every relation that was evaluated, the hidden row number last where the node carries it."""
    bad: list[tuple[str, BadRows]] = field(default_factory=list)
    """Rows that a node could not compute, by node."""


class Dag:
    """The nodes that hang on one source table, ready to be run again and again. Used by the worker thread."""

    def __init__(self, plan: Plan, source: str, session: Session, observer: Observer, *, isolating: bool) -> None:
        """``isolating``: an error of a row costs that row (``sql.on_error`` = ``dlq``), else the pipeline."""
        self._plan, self._session, self._observer, self._isolating = plan, session, observer, isolating
        self._source = plan.source_named(source)
        self._unread = Unread()
        self._nodes = self._hanging_on(source)
        self._opaque_needs = self._inputs_of_opaque()
        wanted = {lane.relation for lane in plan.lanes}
        self._evaluated = {n.name for n in self._nodes if n.shared or n.name in wanted or n.name in self._opaque_needs}
        self._needed = self._reachable(wanted)
        used = {name for node in self._nodes for name in node.inputs}
        self._statics = [table for table in plan.statics if table.name in used]
        own = {relation for source in plan.sources for relation in relations(source, "")}
        self._node_bases = {node.name: self._bases(node, own) for node in self._nodes}
        self.reads = {name for node in self._nodes if node.name in self._needed for name in node.inputs}
        """Every relation that some node needs."""

    def run(self, tables: Mapping[str, pa.RecordBatch], *, after_errors: bool) -> Results:
        """Evaluate every node that a lane needs over the epoch's source relations (each with its row number column last).

        ``after_errors`` picks the nodes that read ``dlq.*``, or all the others. Raises QueryFailed.
        """
        if self._statics and not after_errors:
            statics.require(self._statics)
        results = Results({name: [batch] for name, batch in tables.items()})
        for name, batch in tables.items():
            if name in self.reads:
                self._session.put(name, [batch], batch.schema)
        for node in self._nodes:
            if node.after_errors == after_errors and node.name in self._needed:
                self._evaluate(node, results, isolating=self._isolating and not after_errors)
        return results

    def clear(self) -> None:
        """Empty this source's relations, so that nodes which read several sources see only the other one's epoch."""
        for relation, schema in relations(self._source, self._plan.settings.metadata_prefix).items():
            if relation in self.reads:
                self._session.put(relation, (), schema.append(ROW_FIELD))

    # -- one node
    def _evaluate(self, node: Node, results: Results, *, isolating: bool) -> None:
        """Bind an inlined node, or run one whose rows somebody wants."""
        if node.name not in self._evaluated:
            self._session.bind(node.name, node.text)
            return
        began = time.perf_counter()
        bases = self._node_bases[node.name]
        if node.spliced is None:
            batches = self._run_opaque(node, results, bases)
        else:
            batches = self._run_rows(node, results, bases, isolating=isolating)
        results.rows[node.name] = batches
        self._publish(node, batches)
        rows_in = max((sum(b.num_rows for b in results.rows.get(name, ())) for name in bases), default=0)
        self._observer.on(NodeRan(node.name, rows_in, sum(b.num_rows for b in batches), time.perf_counter() - began))

    def _run_rows(self, node: Node, results: Results, bases: list[str], *, isolating: bool) -> list[pa.RecordBatch]:
        """Run a node that keeps rows apart; its bad rows are set aside when that is allowed."""
        try:
            return self._run(node)
        except QueryFailed as e:
            statics.prove(self._session, [table for table in self._statics if table.name in self._inputs(node)])
            if not isolating:
                raise QueryFailed(
                    f"{node.name}: {e.message}", where=str(node.at) if node.at else None,
                    hint="try_cast and nullif give NULL instead of an error; SET 'sql.on_error' = 'dlq' sets the row aside",
                ) from e
            full = {name: pa.Table.from_batches(results.rows[name]).combine_chunks().to_batches() for name in bases if results.rows.get(name)}
            tables = {name: batches[0] for name, batches in full.items() if batches}
            batches, bad = isolate(node.name, tables, lambda part: self._run_over(node, part))
            self._run_over(node, {}, restore=tables)
            results.bad.append((node.name, bad))
            return batches

    def _run_over(
        self, node: Node, part: Mapping[str, pa.RecordBatch], restore: Mapping[str, pa.RecordBatch] | None = None
    ) -> list[pa.RecordBatch]:
        """Run a node over other rows of its bases; views in between are bound again, since a view keeps the batches it was made over."""
        for name, batch in (restore or part).items():
            self._session.put(name, [batch], batch.schema)
        for view in self._inlined(node):
            self._session.bind(view.name, view.text)
        return [] if restore is not None else self._run(node)

    def _run_opaque(self, node: Node, results: Results, bases: list[str]) -> list[pa.RecordBatch]:
        """Run a node that cannot carry the row number over bases that do not show it."""
        held = {name: results.rows[name] for name in bases if name in results.rows}
        for name, batches in held.items():
            bare = [batch.drop_columns([metadata.ROW]) if metadata.ROW in batch.schema.names else batch for batch in batches]
            schema = bare[0].schema if bare else self._bare_schema(name)
            self._session.put(name, bare, schema)
        try:
            return self._run(node)
        finally:
            for name, batches in held.items():
                if batches:
                    self._session.put(name, batches, batches[0].schema)

    def _run(self, node: Node) -> list[pa.RecordBatch]:
        """Run the text and make sure that no decimal went past its precision unnoticed."""
        batches = self._session.run(node.run)
        for batch in batches:
            for name, column in zip(batch.schema.names, batch.columns, strict=True):
                if pa.types.is_decimal(column.type):
                    try:
                        column.validate(full=True)
                    except pa.ArrowInvalid as e:
                        raise QueryFailed(f"arithmetic overflow: column {name} holds a value beyond {column.type}") from e
        return batches if node.made is None else [self._filled(node, batch) for batch in batches]

    def _filled(self, node: Node, batch: pa.RecordBatch) -> pa.RecordBatch:
        """A batch of a node that does not make all of its columns: the others are NULL, since readers may count or match them."""
        if node.schema is None:
            raise ValueError(f"{node.name} has no schema")
        made = dict(zip(batch.schema.names, zip(batch.schema, batch.columns, strict=True), strict=True))
        pairs = [made.get(field.name) or (field, self._unread.of(field.type, batch.num_rows)) for field in node.schema]
        pairs.append(made[metadata.ROW])
        return pa.RecordBatch.from_arrays([column for _, column in pairs], schema=pa.schema([field for field, _ in pairs], batch.schema.metadata))

    def _publish(self, node: Node, batches: list[pa.RecordBatch]) -> None:
        """Give the rows to whoever reads the node by name."""
        if node.name in self.reads:
            schema = batches[0].schema if batches else self._bare_schema(node.name)
            if not batches and node.spliced is not None:
                schema = schema.append(ROW_FIELD)
            self._session.put(node.name, batches, schema)

    # -- the shape of the graph
    def _hanging_on(self, source: str) -> list[Node]:
        """Nodes that read ``source`` at any distance, and whatever else those read, in order."""
        needed = {node.name for node in self._plan.nodes if source in node.sources}
        for node in reversed(self._plan.nodes):
            if node.name in needed:
                needed.update(node.inputs)
        return [node for node in self._plan.nodes if node.name in needed]

    def _bare_schema(self, name: str) -> pa.Schema:
        """Schema of a relation without the row number."""
        node = self._plan.node_named(name)
        if node is not None and node.schema is not None:
            return node.schema
        return relations(self._source, self._plan.settings.metadata_prefix)[name]

    def _bases(self, node: Node, own: Collection[str]) -> list[str]:
        """Registered relations that a node reads, through inlined views."""
        out: list[str] = []
        for name in node.inputs:
            inner = self._plan.node_named(name)
            if inner is not None and name not in self._evaluated and inner.sources:
                out += [base for base in self._bases(inner, own) if base not in out]
            elif (inner is not None and inner.sources) or name in own:
                out += [name] if name not in out else []
        return out

    def _inputs(self, node: Node) -> set[str]:
        """Everything that a node reads, at any distance."""
        out = set(node.inputs)
        for inner in self._nodes:
            if inner.name in node.inputs:
                out |= self._inputs(inner)
        return out

    def _inlined(self, node: Node) -> list[Node]:
        """Views between a node and its bases, in the order in which they can be bound."""
        out: list[Node] = []
        for name in node.inputs:
            inner = self._plan.node_named(name)
            if inner is not None and name not in self._evaluated and inner.sources:
                out += [view for view in [*self._inlined(inner), inner] if view not in out]
        return out

    def _inputs_of_opaque(self) -> set[str]:
        """Streaming views that an opaque node reads: they are materialised, so that the row number can be left out."""
        return {name for node in self._nodes if node.spliced is None for name in node.inputs if (n := self._plan.node_named(name)) and n.sources}

    def _reachable(self, wanted: Collection[str]) -> set[str]:
        """Nodes that some lane hangs on."""
        needed: set[str] = set()
        for node in reversed(self._nodes):
            if node.name in wanted or any(node.name in other.inputs for other in self._nodes if other.name in needed):
                needed.add(node.name)
        return needed


def relations(table: SourceTable, prefix: str) -> dict[str, pa.Schema]:
    """The relations that one source gives, each with its schema (no row number): decoded, raw and dead letters."""
    letters = metadata.dead_letter_schema(prefix)
    decoded = table.schema if table.schema is not None else pa.schema([])
    return {table.name: decoded, f"raw.{table.name}": metadata.raw_schema(prefix), f"dlq.{table.name}": letters, "dlq.all": letters}
