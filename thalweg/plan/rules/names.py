"""Every relation has one name, and every name is one that a user may give."""

from __future__ import annotations

import re
from itertools import count
from typing import TYPE_CHECKING, Final

from thalweg import registry
from thalweg.dialect.tree import Copy, CreateTable, CreateView
from thalweg.plan.draft import Query, listed, nearest
from thalweg.plan.graph import STATIC_OPTION

if TYPE_CHECKING:
    from thalweg.dialect.tree import Name
    from thalweg.plan.draft import Draft

STATIC_KINDS: Final = ("PARQUET", "CSV", "JSON", "NDJSON", "AVRO", "ARROW")
_LANES: Final = frozenset({"raw", "dlq", "dq"})


def names(draft: Draft) -> None:
    """Sort the statements into tables, views and COPYs; refuse names that are taken or reserved and kinds that nobody knows."""
    streaming = registry.names("sources")
    for statement in draft.script.statements:
        if isinstance(statement, CreateTable):
            _table(draft, statement, streaming)
        elif isinstance(statement, CreateView) and _define(draft, statement.name):
            name = str(statement.name)
            draft.queries[name] = Query(name, statement.query, is_view=True, at=statement.name.start)
    _copies(draft)


def _table(draft: Draft, table: CreateTable, streaming: list[str]) -> None:
    """A table: streaming when a source claims its kind, static when the engine reads the files itself."""
    if not _define(draft, table.name):
        return
    name, kind = str(table.name), table.stored_as.value.upper()
    if name == "all":
        draft.fail("a table cannot be named all", table.name.start, 3, "dlq.all holds the dead letters of every table")
        draft.broken.add(name)
    if kind in STATIC_KINDS and (kind.lower() not in streaming or _asked_static(table)):
        draft.static_tables.append(table)
    elif kind.lower() in streaming:
        draft.tables.append(table)
    else:
        kinds = sorted({*STATIC_KINDS, *(k.upper() for k in streaming)})
        hint = nearest(kind, kinds) or f"kinds: {listed(kinds)}"
        draft.fail(f"no source reads {kind}", table.stored_as.start, len(table.stored_as.value), hint.replace("'", ""))
        draft.broken.add(name)


def _asked_static(table: CreateTable) -> bool:
    """Whether a kind that is both is to be read by the engine as a whole, so that it can be joined with a stream."""
    return any(option.key == STATIC_OPTION and option.value.strip().lower() == "true" for option in table.options)


def _define(draft: Draft, name: Name) -> bool:
    """Take a name, once by the parser's care, unless its quotes make it look like a lane."""
    shown = str(name)
    if shown.partition(".")[0] in _LANES and "." in shown:
        draft.fail(f"{shown} looks like a lane", name.start, len(shown), "raw, dlq and dq are filled by the pipeline itself")
        draft.broken.add(shown)
        return False
    draft.names[shown] = name.start
    return True


def _copies(draft: Draft) -> None:
    """Name the relation of every COPY; a query is called after its target, since a target's record must not depend on other statements."""
    for statement in draft.script.statements:
        if not isinstance(statement, Copy):
            continue
        if statement.relation is not None:
            draft.targets.append((statement, str(statement.relation)))
        elif statement.query is not None:
            base = "copy_" + _slug(statement.target.value)
            taken = draft.names.keys() | draft.queries.keys()
            name = base if base not in taken else next(f"{base}_{n}" for n in count(2) if f"{base}_{n}" not in taken)
            draft.queries[name] = Query(name, statement.query, is_view=False, at=statement.query.start, copy=statement)
            draft.targets.append((statement, name))


def _slug(target: str) -> str:
    """The last part of a target as an identifier: ``./out/Big-Orders/`` is ``big_orders``."""
    last = target.split("://", 1)[-1].rstrip("/").rsplit("/", 1)[-1]
    return re.sub(r"[^a-z0-9]+", "_", last.lower()).strip("_") or "query"
