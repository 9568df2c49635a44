"""The plan: an immutable DAG of sources, nodes and lanes; everything the runtime needs and nothing it must ask twice."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from thalweg.arrow.metadata import ROW
from thalweg.dialect.names import quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pyarrow as pa

    from thalweg.arrow.metadata import Policy
    from thalweg.dialect.tree import SourceText
    from thalweg.errors import Location
    from thalweg.ports.codec import CodecPlugin, DecodeRequest
    from thalweg.ports.sink import Guarantee, SinkPlugin
    from thalweg.ports.source import Budget, SourcePlugin


STATIC_OPTION: Final = "static"
"""``true`` makes a static table of files that are a source too."""


@dataclass(frozen=True, slots=True)
class PipelineSettings:
    """Settings of one run: command line over environment over SET over thalweg.toml over default."""

    name: str
    budget: Budget
    metadata_prefix: str = "_twg_"
    drain_deadline_ns: int = 30_000_000_000
    queue_bytes: int = 32 << 20
    """Bound of each queue between stages."""
    commit_interval_ns: int = 1_000_000_000
    sql_on_error: str | None = None
    """``dlq``, ``fail`` or None: ``dlq`` where the source has ``'bad_data' 'dlq'``, else ``fail``."""
    log_interval_ns: int = 10_000_000_000
    log_format: str = "logfmt"
    kernels: bool = True
    """Whether compiled decoders may take over."""
    """``logfmt`` or ``json``."""
    origins: Mapping[str, str] = field(default_factory=dict)
    """Where each setting came from, for ``twg check``."""
    shown: Mapping[str, str] = field(default_factory=dict)
    """Each setting's value as a user would write it."""


@dataclass(frozen=True, slots=True)
class MetadataColumn:
    """A declared ``METADATA FROM`` column."""

    name: str
    key: str
    """Metadata column it reads, without prefix (``source_timestamp``)."""
    type: pa.DataType


@dataclass(frozen=True, slots=True)
class PayloadFormat:
    """How one side of a record (value or key) becomes columns."""

    codec: CodecPlugin
    request: DecodeRequest
    registry: tuple[str, str] | None
    """Registry plug-in and URL, None when the format needs none."""
    registry_options: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class SourceTable:
    """A streaming source: ``CREATE EXTERNAL TABLE ... STORED AS KAFKA``."""

    name: str
    kind: str
    location: str
    plugin: SourcePlugin
    options: Any
    """The source plug-in's options dataclass."""
    value: PayloadFormat
    schema: pa.Schema | None
    """The relation's columns: key columns, payload columns, metadata columns; None while it lies in a registry."""
    key: PayloadFormat | None = None
    metadata: tuple[MetadataColumn, ...] = ()
    not_null: tuple[str, ...] = ()
    """Columns declared NOT NULL: a NULL there is a bad record (``decode.not_null``)."""
    bad_data: str = "fail"
    tombstones: str = "drop"
    sql_on_error: str = "fail"
    cluster_alias: str | None = None
    at: Location | None = None


@dataclass(frozen=True, slots=True)
class StaticTable:
    """A bounded table that DataFusion reads itself (Parquet, CSV, JSON, Avro, Arrow files)."""

    name: str
    statement: str
    """The CREATE EXTERNAL TABLE that DataFusion executes."""
    schema: pa.Schema | None
    at: Location | None = None
    kind: str = ""
    location: str = ""
    """As the user wrote it."""
    path: str | None = None
    """The local file or folder that must be there; None for a remote place or a pattern."""


@dataclass(frozen=True, slots=True)
class Node:
    """One query: a view, or the query of a COPY."""

    name: str
    sql: str
    """As the user wrote it."""
    spliced: str | None
    """With the hidden row column; None where the query cannot carry it."""
    opaque: str | None
    """Why it cannot, in the user's words."""
    inputs: tuple[str, ...]
    """Relations it reads, qualified (``orders``, ``raw.orders``, ``dlq.orders``), in the order of their mention."""
    sources: tuple[str, ...]
    """Source tables it hangs on, at any distance; empty: the node is static."""
    shared: bool
    """More than one dependent: materialised once per epoch."""
    schema: pa.Schema | None
    is_view: bool = True
    after_errors: bool = False
    """Reads ``dlq.*``: runs after every other node of the epoch."""
    at: Location | None = None
    made: tuple[str, ...] | None = None
    """The columns that some reader needs, in order: only they are made where the node is materialised. None: all."""

    @property
    def text(self) -> str:
        """What DataFusion is given where the node becomes part of its reader's query."""
        return self.spliced or self.sql

    @property
    def run(self) -> str:
        """What DataFusion is given where the node is materialised."""
        return self.text if self.made is None else _selecting([*self.made, ROW], self.text, self.name)

    def selecting(self, columns: Iterable[str]) -> str:
        """The query as written, asked for some of its columns only."""
        return _selecting(columns, self.sql, self.name)


def _selecting(columns: Iterable[str], sql: str, name: str) -> str:
    """Some columns of a query; none: its rows alone. The query stands in lines of its own, since it may end with a comment."""
    listed = ", ".join(map(quote, columns)) or "NULL"
    return f"SELECT {listed} FROM (\n{sql}\n) AS {quote(name)}"  # noqa: S608 - the names are quoted


@dataclass(frozen=True, slots=True)
class Lane:
    """One COPY: a node or a system relation on its way to one target."""

    name: str
    """Unique, for people: the relation's name, with ``_<n>`` behind it for a further target."""
    relation: str
    """Node, source or system relation whose rows it carries, qualified; a query is called ``copy_<last part of its target>``. The target keeps
    its record under this name, so it must not change when other statements come or go."""
    sources: tuple[str, ...]
    plugin: SinkPlugin
    kind: str
    location: str
    options: Any
    """The sink plug-in's options dataclass."""
    partition_by: tuple[str, ...]
    schema: pa.Schema | None
    """What reaches the sink, metadata columns included."""
    policy: Policy
    guarantee: Guarantee
    gates: bool
    role: str
    dead_letters: bool = False
    at: Location | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that a run needs. Nodes are in topological order."""

    settings: PipelineSettings
    source: SourceText
    sources: tuple[SourceTable, ...]
    statics: tuple[StaticTable, ...]
    nodes: tuple[Node, ...]
    lanes: tuple[Lane, ...]
    rewrites: tuple[str, ...] = ()
    """What was changed on the way, in words, for ``twg check``."""

    def source_named(self, name: str) -> SourceTable:
        """The source table ``name``; KeyError where there is none."""
        for table in self.sources:
            if table.name == name:
                return table
        raise KeyError(name)

    def node_named(self, name: str) -> Node | None:
        """The node ``name``, or None."""
        for node in self.nodes:
            if node.name == name:
                return node
        return None
