"""Queries to nodes: planned as written and as spliced, judged for streams, with their schemas."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pyarrow as pa

from thalweg.arrow.metadata import ROW
from thalweg.dialect import lineage
from thalweg.errors import QueryRefused
from thalweg.plan import refusals
from thalweg.plan.draft import Relation
from thalweg.plan.graph import Node

if TYPE_CHECKING:
    from thalweg.dialect.lineage import Lineage
    from thalweg.plan.draft import Draft, Query

_ROW = pa.field(ROW, pa.int32(), nullable=False)

_STRUCT = "read the table with 'avro.union' 'struct'"
_BRANCHES = f"take a branch with union_extract({{}}, '<branch>'), or {_STRUCT}"


def nodes(draft: Draft) -> None:
    """Plan the queries in their order; what hangs on something broken is left out."""
    if not draft.queries:
        return
    aggregates = {name for name, kind, _ in draft.session.functions() if kind == "AGGREGATE"}
    mentions = _mentions(draft)
    for query in draft.queries.values():
        reads = list(dict.fromkeys(d.name for d in query.lineage.dependencies)) if query.lineage else []
        found = _analyse(draft, query, reads, aggregates)
        if found is None or query.name in draft.broken or any(draft.is_broken(n) or n not in draft.relations for n in reads):
            draft.broken.add(query.name)
            continue
        node = _node(draft, query, found, [draft.relations[name] for name in reads], shared=mentions[query.name] > 1)
        if node is None:
            draft.broken.add(query.name)
            continue
        draft.nodes.append(node)
        role, carries = "view" if query.is_view else "query", node.spliced is not None
        draft.relations[node.name] = Relation(node.name, role, node.sources, node.schema, carries_rows=carries, after_errors=node.after_errors)
        if query.is_view and node.schema is not None:
            draft.session.declare(node.name, node.schema)


def _analyse(draft: Draft, query: Query, reads: list[str], aggregates: set[str]) -> Lineage | None:
    """Whether a stream can answer the query, judged also where what it reads has errors of its own; None when it cannot."""
    streams = [name for name in reads if name in draft.streaming]
    if streams:
        draft.streaming.add(query.name)
    found = lineage.analyse(query.fragment.text, () if draft.request.bounded else streams, aggregates)
    if found.kind == "refused":
        draft.fail(found.reason or "a stream cannot answer this query", query.fragment.start + (found.offset or 0), found.width, found.hint)
        draft.broken.add(query.name)
    return None if found.kind in {"refused", "error"} else found


def _mentions(draft: Draft) -> Counter[str]:
    """How often each relation is read; every mention would run it again, and a COPY of it counts as one."""
    read = [d.name for q in draft.queries.values() if q.lineage is not None for d in q.lineage.dependencies]
    return Counter([*read, *(relation for _, relation in draft.targets)])


def _node(draft: Draft, query: Query, found: Lineage, reads: list[Relation], *, shared: bool) -> Node | None:
    """One node; None when it is refused."""
    sql = query.fragment.text
    schema = None
    if all(r.schema is not None for r in reads):
        schema = _plan(draft, query, sql)
        if schema is None or not _columns(draft, query, schema, reads):
            return None
    after_errors = any(r.after_errors for r in reads)
    spliced, opaque = (None, None) if found.kind == "static" else _splice(draft, found, reads, schema)
    return Node(
        name=query.name, sql=sql, spliced=spliced, opaque=opaque, inputs=tuple(r.name for r in reads),
        sources=tuple(dict.fromkeys(s for r in reads for s in r.sources)), shared=shared, schema=schema, is_view=query.is_view,
        after_errors=after_errors, at=draft.script.source.location(query.at, len(query.name) if query.is_view else 1),
    )  # fmt: skip


def _plan(draft: Draft, query: Query, sql: str) -> pa.Schema | None:
    """The schema of the query as written; a refusal is noted at the word it speaks of."""
    try:
        schema, casts = draft.session.schema_of(sql), draft.session.union_casts(sql)
        if not casts:
            draft.session.plan(sql)
    except QueryRefused as e:
        found = refusals.place(e.message, sql)
        hint = _BRANCHES.format("column") if "type Union(" in e.message else None
        draft.fail(found.message, query.fragment.start + found.offset, found.width, found.hint or e.hint or hint)
        return None
    for cast in casts:
        what = "is a union" if cast.is_union and cast.shown == cast.column else "holds a union"
        found = refusals.place(f"column '{cast.column}' {what}: a cast or comparison makes NULL of its other branches", sql)
        hint = _BRANCHES.format(cast.shown) if cast.is_union else _STRUCT
        draft.fail(found.message, query.fragment.start + found.offset, found.width, hint)
    return None if casts else schema


def _columns(draft: Draft, query: Query, schema: pa.Schema, reads: list[Relation]) -> bool:
    """Output columns have names of their own, outside of the metadata prefix unless they come from a lane that has them."""
    names = list(schema.names)
    start = refusals.place("", query.fragment.text)
    at, width = query.fragment.start + start.offset, start.width
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        what = f"view {query.name}" if query.is_view else "this query"
        draft.fail(f"{what} has more than one column named {', '.join(twice)}", at, width, "name the columns apart with AS")
    if not names:
        draft.fail("the query gives no columns", at, width, "begin with SELECT * or name the columns")
    theirs = {f.name: f.type for r in reads if r.schema is not None for f in r.schema}
    for field in schema:
        if field.name.startswith(draft.prefix) and theirs.get(field.name) != field.type:
            hint = "rename it with AS; metadata columns are added at the target ('metadata' option)"
            draft.fail(f"column {field.name} is under the metadata prefix '{draft.prefix}'", at, width, hint)
            return False
    return bool(names) and not twice


def _splice(draft: Draft, found: Lineage, reads: list[Relation], schema: pa.Schema | None) -> tuple[str | None, str | None]:
    """The text with the hidden column, or the reason why there is none."""
    if found.spliced is None:
        return None, found.reason or "it does not keep rows apart"
    blind = [r.name for r in reads if r.sources and not r.carries_rows]
    if blind:
        return None, f"it reads {', '.join(blind)}, whose rows are not traced"
    if schema is None:
        return found.spliced, None
    why = _compare(draft, found.spliced, reads, schema)
    return (None, why) if why else (found.spliced, None)


def _compare(draft: Draft, spliced: str, reads: list[Relation], schema: pa.Schema) -> str | None:
    """Why the spliced text is not the same query with one column more; None when it is."""
    carrying = [(r.name, r.schema) for r in reads if r.carries_rows and r.schema is not None]
    for name, columns in carrying:
        draft.session.put(name, (), columns.append(_ROW))
    try:
        planned = draft.session.schema_of(spliced)
        draft.session.plan(spliced)
    except QueryRefused as e:
        return f"the engine refuses it with the row number added: {e.message}".split("\n")[0]
    finally:
        for name, columns in carrying:
            draft.session.put(name, (), columns)
    wanted = [*schema.names, ROW]
    if list(planned.names) != wanted:
        return f"adding the row number changes its columns to {', '.join(planned.names)}"
    changed = [f.name for f in schema if planned.field(f.name).type != f.type]
    return f"adding the row number changes the type of {', '.join(changed)}" if changed else None
