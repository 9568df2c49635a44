"""Columns that nobody reads are not made: neither by the decoders of a source nor by a view that several queries share."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pyarrow as pa

from thalweg.arrow.metadata import ROW
from thalweg.errors import QueryRefused

if TYPE_CHECKING:
    from collections.abc import Iterable

    from thalweg.plan.draft import Draft
    from thalweg.plan.graph import Node, PayloadFormat, SourceTable

_ROW = pa.field(ROW, pa.int32(), nullable=False)


def pruning(draft: Draft) -> None:
    """Note what every view makes for its readers, and the columns of every source that somebody reads; where anything is not clear, all of them."""
    if draft.request.bounded or draft.errors or not draft.lanes:
        return
    for table in draft.sources:
        if table.schema is not None:
            draft.session.put(table.name, (), table.schema)
    readers = _Readers(draft)
    draft.nodes[:] = [readers.narrowed(node) for node in reversed(draft.nodes)][::-1]
    draft.sources[:] = [_pruned(table, readers) for table in draft.sources]


def _pruned(table: SourceTable, readers: _Readers) -> SourceTable:
    """The table with what is wanted of its payloads: what is read, and what must not be NULL."""
    read = readers.of(table.name)
    if read is None or table.schema is None or read.union(table.not_null).issuperset(table.schema.names):
        return table
    used = read.union(table.not_null)
    return dataclasses.replace(table, value=_wanting(table.value, used), key=_wanting(table.key, used) if table.key is not None else None)


def _wanting(side: PayloadFormat, used: frozenset[str]) -> PayloadFormat:
    """A side of the records whose decoders are told."""
    return dataclasses.replace(side, request=dataclasses.replace(side.request, wanted=used))


class _Readers:
    """Who reads which columns of whom; told from the targets backwards, each query after all of its readers."""

    def __init__(self, draft: Draft) -> None:
        """So far the targets alone read something: all columns of what they carry."""
        self._draft = draft
        self._read: dict[str, set[str] | None] = dict.fromkeys(lane.relation for lane in draft.lanes)
        self._carrying = {r.name: r.schema for r in draft.relations.values() if r.carries_rows and r.schema is not None}
        opaque = {name for node in draft.nodes if node.spliced is None for name in node.inputs}
        self._materialised = {node.name for node in draft.nodes if node.shared or node.name in opaque} | self._read.keys()
        self._inlined = {node.name: node for node in draft.nodes if node.name not in self._materialised}

    def of(self, relation: str) -> frozenset[str] | None:
        """The columns of a relation that are read; None: all, or nobody knows."""
        found = self._read.get(relation, set())
        return None if found is None else frozenset(found)

    def narrowed(self, node: Node) -> Node:
        """The query with the columns that it makes; what it reads for them is noted."""
        if node.name not in self._read:
            return node  # no target hangs on it
        read = self.of(node.name)
        wanted = None if read is None or node.schema is None else [name for name in node.schema.names if name in read]
        if wanted is not None and node.name in self._materialised and node.schema is not None:
            must = self._expressions(node).union(field.name for field in node.schema if not field.nullable)
            node, wanted = self._making(node, [name for name in node.schema.names if name in must.union(wanted)])
        self._note(node.inputs, self._reads(node.selecting(wanted) if wanted is not None else node.sql))
        return node

    def _making(self, node: Node, wanted: list[str]) -> tuple[Node, list[str] | None]:
        """A shared query that makes these columns only, and these; None where it makes all."""
        narrow = dataclasses.replace(node, made=tuple(wanted))
        if node.schema is None or len(wanted) == len(node.schema) or node.spliced is None or not node.sources:
            return node, None
        return (narrow, wanted) if self._is_same(narrow, node.schema) else (node, None)

    def _is_same(self, narrow: Node, whole: pa.Schema) -> bool:
        """Whether what is run gives those columns of the query, with their types, and the row number behind them."""
        carrying = [name for name in narrow.inputs if name in self._carrying]
        for name in carrying:
            self._draft.session.put(name, (), self._carrying[name].append(_ROW))
        try:
            planned = self._draft.session.schema_of(narrow.run)
        except QueryRefused:
            return False
        finally:
            for name in carrying:
                self._draft.session.put(name, (), self._carrying[name])
        made = narrow.made or ()
        return planned.names == [*made, ROW] and all(planned.field(name).type == whole.field(name).type for name in made)

    def _reads(self, sql: str) -> dict[str, set[str]] | None:
        """What a query reads; None: nobody knows."""
        try:
            return self._draft.session.reads(sql)
        except QueryRefused:
            return None

    def _note(self, inputs: Iterable[str], found: dict[str, set[str]] | None) -> None:
        """Add what one query reads."""
        for name in inputs:
            sofar = self._read.setdefault(name, set())
            if found is None or sofar is None:
                self._read[name] = None
            else:
                sofar |= found.get(name, set())

    def _expressions(self, node: Node) -> frozenset[str]:
        """Columns that take an expression, in the query or in the views that become a part of it: an error of theirs is not to be lost."""
        if node.schema is None:
            return frozenset()
        inlined = {name: self._expressions(self._inlined[name]) for name in node.inputs if name in self._inlined}
        try:
            return self._draft.session.computed(node.sql, inlined)
        except QueryRefused:
            return frozenset(node.schema.names)
