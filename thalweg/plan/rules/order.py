"""What reads what: unknown names, cycles, and an order in which every query comes after what it reads."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

from thalweg.dialect import lineage

if TYPE_CHECKING:
    from thalweg.plan.draft import Draft, Query


def order(draft: Draft) -> None:
    """Analyse every query once, refuse names that nobody defines, sort the queries."""
    edges: dict[str, list[str]] = {}
    for name, query in draft.queries.items():
        query.lineage = lineage.analyse(query.fragment.text, (), ())
        if query.lineage.kind == "error":
            _syntax(draft, query)
        edges[name] = [d.name for d in query.lineage.dependencies if d.name in draft.queries]
        _unknown(draft, query)
    circular = _cycles(draft, edges)
    ordered = TopologicalSorter({name: [d for d in edges[name] if d not in circular] for name in edges if name not in circular})
    position = {name: n for n, name in enumerate(ordered.static_order())}
    draft.queries = dict(sorted(draft.queries.items(), key=lambda item: position.get(item[0], len(position))))


def _syntax(draft: Draft, query: Query) -> None:
    """A query that cannot be read."""
    assert query.lineage is not None
    at = query.fragment.start + (query.lineage.offset or 0)
    draft.fail(query.lineage.reason or "this query cannot be read", at, query.lineage.width, query.lineage.hint)
    draft.broken.add(query.name)


def _unknown(draft: Draft, query: Query) -> None:
    """Every name that the query reads exists."""
    assert query.lineage is not None
    for dependency in query.lineage.dependencies:
        name = dependency.name
        if query.is_view and name.startswith("dlq.") and name in draft.relations:
            at = query.fragment.start + dependency.offset
            draft.fail(f"a view cannot read {name}", at, dependency.width, f"query {name} where it lands: COPY (query) TO a target")
            draft.broken.add(query.name)
        if name in draft.relations or (name in draft.queries and draft.queries[name].is_view):
            continue
        draft.broken.add(query.name)
        if draft.is_broken(name) or name in draft.names:
            continue
        at = query.fragment.start + dependency.offset
        if name.startswith("dq."):
            draft.fail(f"{name} is not in this build", at, dependency.width, "expectations and their verdicts come later")
            continue
        draft.fail(f"no table or view named {name}", at, dependency.width, draft.unknown(name))


def _cycles(draft: Draft, edges: dict[str, list[str]]) -> set[str]:
    """Refuse every cycle, with all its members; returns them."""
    left, found = dict(edges), set[str]()
    while True:
        try:
            TopologicalSorter(left).prepare()
        except CycleError as e:
            members = list(reversed(e.args[1][1:]))
            first = min(members, key=lambda name: draft.queries[name].at)
            turn = members.index(first)
            circle = [*members[turn:], *members[:turn], first]
            message = f"the views form a cycle: {' -> '.join(circle)}" if len(members) > 1 else f"view {first} reads itself"
            draft.fail(message, draft.queries[first].at, len(first), "one of them has to read something else")
            draft.broken.update(members)
            found.update(members)
            left = {name: [d for d in reads if d not in members] for name, reads in left.items() if name not in members}
        else:
            return found
