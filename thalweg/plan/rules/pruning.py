"""Columns that nobody reads need not become columns: each source's decoders are told which ones the queries and targets read."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from thalweg.errors import QueryRefused

if TYPE_CHECKING:
    from thalweg.plan.draft import Draft
    from thalweg.plan.graph import Node, PayloadFormat, SourceTable


def pruning(draft: Draft) -> None:
    """Note the columns of every source that is read by queries alone; where anything is not clear, all of them are."""
    if draft.request.bounded or draft.errors or not draft.lanes:
        return
    draft.sources[:] = [_pruned(draft, table) for table in draft.sources]


def _pruned(draft: Draft, table: SourceTable) -> SourceTable:
    """The table with what is wanted of its payloads."""
    used = _used(draft, table)
    if used is None or table.schema is None or used.issuperset(table.schema.names):
        return table
    return dataclasses.replace(table, value=_wanting(table.value, used), key=_wanting(table.key, used) if table.key is not None else None)


def _wanting(side: PayloadFormat, used: frozenset[str]) -> PayloadFormat:
    """A side of the records whose decoders are told."""
    return dataclasses.replace(side, request=dataclasses.replace(side.request, wanted=used))


def _used(draft: Draft, table: SourceTable) -> frozenset[str] | None:
    """Columns that some needed query reads, and those that must not be NULL; None: all."""
    if table.schema is None or any(lane.relation == table.name for lane in draft.lanes):
        return None
    used = set(table.not_null)
    draft.session.put(table.name, (), table.schema)
    for node in _needed(draft):
        if table.name not in node.inputs:
            continue
        try:
            found = draft.session.reads(node.sql)
        except QueryRefused:
            return None
        if found is None:
            return None
        used |= found.get(table.name, set())
    return frozenset(used)


def _needed(draft: Draft) -> list[Node]:
    """Queries that some target hangs on, at any distance."""
    wanted = {lane.relation for lane in draft.lanes}
    out = []
    for node in reversed(draft.nodes):
        if node.name in wanted:
            wanted.update(node.inputs)
            out.append(node)
    return out
