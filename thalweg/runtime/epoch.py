"""One micro-batch: decode, query, set bad rows aside, hand to the lanes."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from thalweg.arrow.batch import BadRows
from thalweg.errors import DecodeFailed, PipelineError, SchemaUnavailable
from thalweg.model.clock import MILLISECOND_NS, SECOND_NS
from thalweg.model.events import BadRecords, DecodeCounts, EpochDone, Notice, RecordsDropped
from thalweg.model.spans import SpanSet
from thalweg.ports.sink import Delivery
from thalweg.runtime import acks
from thalweg.runtime.lineage import RecordIds, Records
from thalweg.runtime.replay import cut

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Mapping

    import pyarrow as pa

    from thalweg.arrow.batch import RawBatch
    from thalweg.model.clock import Clock
    from thalweg.model.events import Observer
    from thalweg.model.position import Partition, TopicIdentity
    from thalweg.plan.graph import Lane as LanePlan
    from thalweg.plan.graph import PipelineSettings, SourceTable
    from thalweg.runtime.dag import Dag, Results
    from thalweg.runtime.decode import Decoding, Rows
    from thalweg.runtime.lanes import AnyLane


@dataclass(frozen=True, slots=True)
class Branch:
    """A lane as its plan and as the thing that runs."""

    plan: LanePlan
    lane: AnyLane


@dataclass(frozen=True, slots=True)
class SourceFlow:
    """Everything that one source's epochs go through."""

    table: SourceTable
    decoding: Decoding
    dag: Dag
    branches: tuple[Branch, ...]
    covered: Callable[[], Mapping[str, SpanSet]]
    """What each lane's record held when its partitions were assigned."""
    identity: Callable[[Partition], TopicIdentity]


class _Stopped(Exception):
    """The run ends while a batch waits for its schema registry."""


class Epochs:
    """Runs epochs, one at a time, on the worker thread."""

    def __init__(
        self, flows: Mapping[str, SourceFlow], settings: PipelineSettings, ledger: acks.Ledger, clock: Clock, observer: Observer,
        stopping: threading.Event, ids: RecordIds | None = None,
    ) -> None:
        """``stopping`` ends a wait for a registry that does not answer; ``ids`` makes the record ids."""
        self._flows, self._settings, self._ledger = flows, settings, ledger
        self._clock, self._observer, self._stopping = clock, observer, stopping
        self._ids = ids or RecordIds()
        self._number = 0
        self._last: str | None = None
        self._cut: set[tuple[str, str]] = set()
        self._given_up: dict[str, SpanSet] = {}
        for flow in flows.values():
            flow.dag.clear()

    def process(self, generation: int, source: str, raw: RawBatch) -> None:
        """Take a raw batch through decode and DAG to the lanes; raises PipelineError when the pipeline cannot go on.

        A batch that still waits for its registry when the run is stopped is given up, and so is all of its source behind it.
        """
        if source in self._given_up:
            self._given_up[source].update(raw.spans)
            return
        flow = self._flows[source]
        if self._last not in {None, source}:
            self._flows[str(self._last)].dag.clear()
        self._last = source
        pieces = cut(raw, flow.covered())
        for at, piece in enumerate(pieces):
            if generation != self._ledger.generation:
                return
            began = time.perf_counter()
            branches = [b for b in flow.branches if b.plan.name not in piece.skip]
            try:
                outputs = self._outputs(flow, piece.raw, branches) if piece.raw.rows and branches else {}
            except _Stopped:
                self._given_up[source] = SpanSet(span for left in pieces[at:] for span in left.raw.spans)
                return
            self._number += 1
            if not self._hand_over(generation, piece.raw, branches, outputs):
                return
            self._observer.on(EpochDone(source, self._number, piece.raw.rows, time.perf_counter() - began))

    def announce(self) -> None:
        """Say before the first record what the payloads become."""
        for flow in self._flows.values():
            flow.decoding.announce(self._observer)

    def hasten(self) -> None:
        """The run is being stopped: whoever waits for a registry does not wait for long any more. Called on any thread."""
        for flow in self._flows.values():
            flow.decoding.hasten()

    def close(self) -> None:
        """Say what was given up, and release what the decoders hold; no epoch comes any more."""
        for source, spans in list(self._given_up.items()):
            places = ", ".join(f"{p} {start} to {end - 1}" for p in spans.partitions() for start, end in spans.ranges(p))
            text = f"{source}: the registry gave no schema before the end, so these records were not processed: {places}; the next start reads them again"
            self._observer.on(Notice("warning", "registry.stopped", text))
        for flow in self._flows.values():
            flow.decoding.close()

    # -- the steps
    def _outputs(self, flow: SourceFlow, raw: RawBatch, branches: list[Branch]) -> dict[str, list[pa.RecordBatch]]:
        """Rows for each lane, as its sink wants them."""
        table = flow.table
        cluster_id = flow.identity(raw.spans[0].partition).cluster_id
        records = Records(raw, self._settings.metadata_prefix, cluster_id=cluster_id, cluster_alias=table.cluster_alias, ids=self._ids)
        wanted = flow.dag.reads | {b.plan.relation for b in branches}
        rows = self._decode(flow, raw, records)
        letters, letter_relations = self._set_aside(flow, records, rows)
        tables = {table.name: rows.batch}
        if f"raw.{table.name}" in wanted:
            tables[f"raw.{table.name}"] = records.raw_rows()
        results = flow.dag.run(tables, after_errors=False)
        for node, bad in results.bad:
            letters.extend(bad)
            letter_relations += [node] * len(bad)
            self._tell_bad(table.name, "dlq", bad, records)
        if wanted & {f"dlq.{table.name}", "dlq.all"}:
            dead = records.dead_letters(letters, letter_relations, self._settings.name, self._clock.now_ns() // 1_000)
            self._merge(results, flow.dag.run({f"dlq.{table.name}": dead, "dlq.all": dead}, after_errors=True))
        emit_us = self._clock.now_ns() // 1_000
        return {b.plan.name: self._shaped(b, results, records, emit_us) for b in branches}

    def _shaped(self, branch: Branch, results: Results, records: Records, emit_us: int) -> list[pa.RecordBatch]:
        """A lane's rows with its metadata columns."""
        if branch.plan.schema is None:
            raise PipelineError(f"{branch.plan.relation} has no schema")
        coded = branch.plan.plugin.capabilities.coded
        return [records.shape(b, branch.plan.schema, emit_us, coded=coded) for b in results.rows.get(branch.plan.relation, ()) if b.num_rows]

    @staticmethod
    def _merge(results: Results, more: Results) -> None:
        """Add the rows of a second run of the DAG."""
        results.rows |= more.rows

    def _decode(self, flow: SourceFlow, raw: RawBatch, records: Records) -> Rows:
        """Decode; a registry that does not answer stops the flow until it does, and no record is bad because of it. Raises _Stopped."""
        pause = 100 * MILLISECOND_NS
        while True:
            try:
                rows = flow.decoding.relation(raw, records.column)
            except SchemaUnavailable as e:
                flow.decoding.counted()  # what was decoded of this batch is decoded again
                again = "" if self._stopping.is_set() else "; trying again"
                self._observer.on(Notice("warning", "registry.unavailable", f"{flow.table.name}: {e}{again}"))
                if self._stopping.wait(pause / SECOND_NS):
                    raise _Stopped from e
                pause = min(pause * 2, 5 * SECOND_NS)
                continue
            self._tell_counts(flow)
            return rows

    def _tell_counts(self, flow: SourceFlow) -> None:
        """What decoding had to do the long way; the first cut of each message type is a warning (DEC-10, DEC-11)."""
        counts = flow.decoding.counted()
        if not counts:
            return
        self._observer.on(DecodeCounts(flow.table.name, counts))
        for name in [c.removeprefix("cut ") for c in counts if c.startswith("cut ")]:
            if (flow.table.name, name) not in self._cut:
                self._cut.add((flow.table.name, name))
                text = f"{flow.table.name}: {name} lies deeper than 'decode.max_depth' and is written as JSON text; the summary says how often"
                self._observer.on(Notice("warning", "decode.depth_cut", text))

    def _set_aside(self, flow: SourceFlow, records: Records, rows: Rows) -> tuple[BadRows, list[str]]:
        """Apply the policies for bad records and tombstones; what is left becomes dead letters."""
        table = flow.table
        if rows.tombstones:
            self._observer.on(RecordsDropped(table.name, "tombstones", rows.tombstones))
        letters, dropped, fatal = BadRows(), BadRows(), BadRows()
        seen: set[int] = set()
        for i, row in enumerate(rows.bad.rows):
            if row in seen:
                continue
            seen.add(row)
            policy = table.tombstones if rows.bad.codes[i] == "source.tombstone" else table.bad_data
            where = {"dlq": letters, "drop": dropped}.get(policy, fatal)
            where.add(row, rows.bad.codes[i], rows.bad.messages[i], rows.bad.paths[i])
        if len(fatal):
            first = min(range(len(fatal)), key=fatal.rows.__getitem__)
            hint = "'bad_data' 'dlq' sets such records aside, 'drop' leaves them out and counts them"
            if fatal.codes[first] == "source.tombstone":
                hint = "'tombstones' 'drop', 'null_row' or 'dlq' lets them pass"
            raise DecodeFailed(f"{fatal.codes[first]}: {fatal.messages[first]}", where=records.position(fatal.rows[first]), hint=hint)
        if len(dropped):
            self._tell_bad(table.name, "drop", dropped, records)
        if len(letters):
            self._tell_bad(table.name, "dlq", letters, records)
        return letters, [table.name] * len(letters)

    def _tell_bad(self, source: str, policy: str, bad: BadRows, records: Records) -> None:
        """Count bad rows by code, with the first one as an example."""
        if len(bad):
            example = f"{records.position(bad.rows[0])}: {bad.messages[0]}"
            self._observer.on(BadRecords(source, policy, dict(Counter(bad.codes)), example))

    def _hand_over(self, generation: int, raw: RawBatch, branches: list[Branch], outputs: Mapping[str, list[pa.RecordBatch]]) -> bool:
        """Register the epoch, then give every lane its delivery: empty ones too, the spans must be recorded."""
        anchors = [b.lane.token for b in branches if isinstance(b.lane.token, acks.RawAnchor)]
        if not self._ledger.register(generation, self._number, raw.spans, anchors):
            return False
        for branch in branches:
            batches = tuple(outputs.get(branch.plan.name, ()))
            rows, nbytes = sum(b.num_rows for b in batches), sum(b.nbytes for b in batches)
            branch.lane.send(generation, Delivery(self._number, batches, raw.spans, rows, nbytes))
        return True
