"""DataFusion: this epoch's batches under stable names, and the queries over them. The only folder that imports datafusion."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.dataset as ds
from datafusion import SessionConfig, SessionContext, TableProviderFactory
from datafusion.catalog import Table

from thalweg.engine.casts import UnionCast, has_union, union_casts
from thalweg.engine.computed import computed
from thalweg.errors import QueryFailed, QueryRefused

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from datafusion.expr import CreateExternalTable, TableScan
    from datafusion.plan import LogicalPlan

_KEEP_TRACES = re.compile(r"^(DataFusion error: )?(Arrow error: |Schema error: |Error during planning: |SQL error: |Execution error: )?", re.IGNORECASE)

_SCAN: Final = "TableScan: "
_SETTINGS: Final = {
    "datafusion.sql_parser.map_string_types_to_utf8view": "false",
    "datafusion.execution.parquet.schema_force_view_types": "false",
    "datafusion.execution.listing_table_factory_infer_partitions": "false",
    "datafusion.execution.time_zone": "UTC",
    "datafusion.optimizer.enable_leaf_expression_pushdown": "false",
}
"""Text is utf8 everywhere, so that the planned schema is the epoch's; a partition column stands in the files, so folders add none.
Fields of structs stay where they are written: moved through a view that names its columns anew they meet "ambiguous" names and end the run."""

_SUBQUERIES_STAY: Final = "datafusion.optimizer.enable_physical_uncorrelated_scalar_subquery"
"""Off, every subquery becomes a join, so that plans show what is in it."""


class Session:
    """One SessionContext. Used by one thread at a time; queries release the GIL while they run.

    Relations are named ``orders`` or, in a lane schema, ``raw.orders``. Names are folded already: they are quoted here and never folded again.
    """

    def __init__(self, *, batch_rows: int = 65_536, threads: int = 1) -> None:
        """``batch_rows``: rows of a result batch at most; ``threads``: DataFusion's target partitions."""
        config = SessionConfig().with_target_partitions(threads).with_batch_size(batch_rows).with_information_schema(enabled=True)
        for key, value in _SETTINGS.items():
            config = config.set(key, value)
        self._ctx = SessionContext(config)
        self._schemas: set[str] = {"public"}
        self._declared: dict[str, pa.Schema] = {}

    # -- declaring: once, before anything runs
    def create_source(self, kind: str, statement: str, name: str, schema: pa.Schema) -> None:
        """Run a ``CREATE EXTERNAL TABLE`` of a streaming kind through DataFusion: the relation exists, empty, with ``schema``."""
        self._ctx.register_table_factory(kind.upper(), _EmptyTable(schema))
        self._execute(statement)
        self.declare(name, schema)  # in memory, as in an epoch: the same plans are made

    def create_static(self, statement: str, name: str) -> pa.Schema:
        """Run a ``CREATE EXTERNAL TABLE`` of a kind that DataFusion reads itself; returns its schema."""
        self._execute(statement)
        return self.schema_of(f"SELECT * FROM {quoted(name)}")  # noqa: S608 - the name is quoted

    def declare(self, name: str, schema: pa.Schema) -> None:
        """An empty relation with ``schema``; a lane schema such as ``raw`` is created when it is first named."""
        self._declared[name] = schema
        self.put(name, (), schema)

    def schema_of(self, sql: str) -> pa.Schema:
        """Plan a query and give its output schema; raises QueryRefused.

        The schema is that of the optimised plan: before type coercion, an empty array literal still says ``list<null>``.
        """
        try:
            plan = self._ctx.sql(sql).optimized_logical_plan()
            return self._ctx.create_dataframe_from_logical_plan(plan).schema()
        except BaseException as e:
            raise refused(e) from e

    def plan(self, sql: str) -> None:
        """Plan a query down to its operators: some that have a schema have no such plan. Nothing runs; raises QueryRefused."""
        try:
            self._ctx.sql(sql).execution_plan()
        except BaseException as e:
            raise refused(e) from e

    def reads(self, sql: str) -> dict[str, set[str]] | None:
        """The columns that a query really reads, by relation outside of any schema; None where the engine does not show all of it.

        Relations must be in memory: others may take filters over, whose columns are not shown. Raises QueryRefused.
        """
        try:
            plan = self._ctx.sql(sql).optimized_logical_plan()
            shown, found = plan.display_indent().count(_SCAN), list(_scans(plan))
        except BaseException as e:
            raise refused(e) from e
        if len(found) != shown:
            return None
        out: dict[str, set[str]] = {}
        for scan in found:
            if scan.fqn()[1] is None:
                out.setdefault(scan.table_name(), set()).update(name for _, name in scan.projection())
        return out

    def computed(self, sql: str, known: Mapping[str, Collection[str]]) -> frozenset[str]:
        """The columns of a query that are more than a column, field or literal of what it reads; ``known``: those of the relations that are views.

        Whatever is not understood counts as computed. Raises QueryRefused.
        """
        try:
            plan = self._ctx.sql(sql).optimized_logical_plan()
            return computed(plan, lambda p: self._ctx.create_dataframe_from_logical_plan(p).schema(), known)
        except BaseException as e:
            raise refused(e) from e

    def union_casts(self, sql: str) -> list[UnionCast]:
        """What a query casts that is a union or holds one: the engine gives NULL for what lies in another branch. Raises QueryRefused."""
        if not any(has_union(kind) for schema in self._declared.values() for kind in schema.types):
            return []
        try:
            self._ctx.sql(f"SET {_SUBQUERIES_STAY} = false").collect()
            return union_casts(self._ctx.sql(sql).optimized_logical_plan(), self._ctx.create_dataframe_from_logical_plan)
        except BaseException as e:
            raise refused(e) from e
        finally:
            self._ctx.sql(f"SET {_SUBQUERIES_STAY} = true").collect()

    def drop(self, name: str) -> None:
        """Forget a relation; nothing happens when there is none."""
        self._ctx.deregister_table(quoted(name))

    def names(self) -> list[str]:
        """Every relation, qualified unless it is in the default schema."""
        catalog = self._ctx.catalog()
        out = []
        for schema in sorted(catalog.schema_names() if hasattr(catalog, "schema_names") else catalog.names()):
            found = catalog.schema(schema)
            if schema != "information_schema" and found is not None:
                out += [table if schema == "public" else f"{schema}.{table}" for table in sorted(found.table_names())]
        return out

    def functions(self) -> list[tuple[str, str, str]]:
        """``(name, kind, signature)`` of every function; kind is ``SCALAR``, ``AGGREGATE`` or ``WINDOW``."""
        rows = self._ctx.sql(
            "SELECT DISTINCT routine_name, function_type, coalesce(syntax_example, routine_name) FROM information_schema.routines ORDER BY 1, 2"
        ).collect()
        table = pa.Table.from_batches(rows)
        return list(zip(*(table.column(i).to_pylist() for i in range(3)), strict=True))

    # -- an epoch
    def put(self, name: str, batches: Sequence[pa.RecordBatch], schema: pa.Schema) -> None:
        """Give ``name`` these batches, in place of whatever it had. ``schema`` counts when there are no batches."""
        key = self._key(name)
        self._ctx.deregister_table(key)
        held = [batch for batch in batches if batch.num_rows]
        self._ctx.register_record_batches(key, [held or [_empty(schema)]])

    def bind(self, name: str, sql: str) -> None:
        """Give ``name`` the query ``sql`` over what is registered now; it is inlined where it is read, never run by itself."""
        key = self._key(name)
        try:
            frame = self._ctx.sql(sql)
            self._ctx.deregister_table(key)
            self._ctx.register_view(key, frame)
        except BaseException as e:
            raise refused(e) from e

    def run(self, sql: str) -> list[pa.RecordBatch]:
        """Run a query to its end; raises QueryFailed with the engine's message."""
        try:
            return [batch for batch in self._ctx.sql(sql).collect() if batch.num_rows]
        except BaseException as e:
            raise failed(e) from e

    def stream(self, sql: str) -> pa.RecordBatchReader:
        """Run a query and hand out its batches as they come; errors of later batches come from the reader.

        The reader has the schema of the batches: for some expressions (``CASE`` over arrays of structs) it is not the planned one.
        """
        try:
            frame = self._ctx.sql(sql)
            found = frame.execute_stream()  # optimises and plans at once
        except BaseException as e:
            raise refused(e) from e
        batches = (batch.to_pyarrow() for batch in found)
        try:
            first = next(batches, None)
        except BaseException as e:
            raise failed(e) from e
        if first is None:
            return pa.RecordBatchReader.from_batches(frame.schema(), [])
        return pa.RecordBatchReader.from_batches(first.schema, chain([first], batches))

    # -- help
    def _key(self, name: str) -> str:
        """The quoted name; its schema is created the first time."""
        if "." in name:
            schema = name.split(".", 1)[0]
            if schema not in self._schemas:
                self._execute(f"CREATE SCHEMA IF NOT EXISTS {quoted(schema)}")
                self._schemas.add(schema)
        return quoted(name)

    def _execute(self, statement: str) -> None:
        """Run a statement that gives no rows."""
        try:
            self._ctx.sql(statement).collect()
        except BaseException as e:
            raise refused(e) from e


def _scans(plan: LogicalPlan) -> Iterator[TableScan]:
    """Every scan of a plan, those of subqueries inside expressions excepted."""
    if plan.display().startswith(_SCAN):
        yield plan.to_variant()
    for below in plan.inputs():
        yield from _scans(below)


class _EmptyTable(TableProviderFactory):
    """A TableProviderFactory that answers with an empty table of one schema; it must not call back into DataFusion."""

    def __init__(self, schema: pa.Schema) -> None:
        """The schema was resolved before."""
        self._schema = schema

    def create(self, cmd: CreateExternalTable) -> Table:  # noqa: ARG002 - the statement says nothing that is not known
        """Called by DataFusion on its own runtime, while it executes the statement."""
        return Table(ds.dataset(pa.Table.from_batches([_empty(self._schema)])))


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    """A batch without rows, of any types: Arrow's own ways refuse a dense union."""
    return pa.RecordBatch.from_arrays([pa.nulls(0, kind) for kind in schema.types], schema=schema)


def quoted(name: str) -> str:
    """``raw.orders`` to ``"raw"."orders"``; only the lane schemas are split off, a dot in a table's own name is not one."""
    head, dot, tail = name.partition(".")
    if dot and head in LANE_SCHEMAS:
        return f"{_quote(head)}.{_quote(tail)}"
    return _quote(name)


LANE_SCHEMAS = frozenset({"raw", "dlq", "dq"})


def _quote(identifier: str) -> str:
    """An identifier in double quotes."""
    return '"' + identifier.replace('"', '""') + '"'


def readable(error: BaseException) -> str:
    """The engine's message without its layers of prefixes; panics and interrupts are told apart by the callers."""
    text = str(error).strip() or type(error).__name__
    text = text.split("\nThis issue was likely caused by a bug")[0]
    if "\ncaused by\n" in text:
        text = text.rsplit("\ncaused by\n", 1)[1]
    before = None
    while before != text:
        before, text = text, _KEEP_TRACES.sub("", text)
    return text.strip()


def refused(error: BaseException) -> QueryRefused:
    """A planning error as ours; KeyboardInterrupt and SystemExit pass through (a Rust panic is a BaseException too)."""
    if isinstance(error, KeyboardInterrupt | SystemExit):
        raise error
    return QueryRefused(readable(error))


def failed(error: BaseException) -> QueryFailed:
    """A run-time error as ours."""
    if isinstance(error, KeyboardInterrupt | SystemExit):
        raise error
    return QueryFailed(readable(error))
