"""One lane for each COPY: its sink, options, columns and metadata."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from thalweg import registry
from thalweg.arrow.metadata import AT_SINK, TYPES, Policy
from thalweg.errors import MissingExtra, UserError
from thalweg.plan import binding
from thalweg.plan.binding import CopyOptions, Reader
from thalweg.plan.draft import listed, nearest
from thalweg.plan.graph import Lane
from thalweg.plan.sinks import sink, unclaimed
from thalweg.ports.sink import Target

if TYPE_CHECKING:
    from thalweg.dialect.tree import Copy
    from thalweg.plan.draft import Draft, Relation
    from thalweg.ports.sink import SinkPlugin


def lanes(draft: Draft) -> None:
    """Bind every COPY."""
    known = registry.names("sinks")
    for copy, name in draft.targets:
        relation = _relation(draft, copy, name)
        bound = _sink(draft, copy, known)
        if bound is None or relation is None:
            continue
        lane = _lane(draft, copy, relation, *bound)
        if lane is not None:
            draft.lanes.append(lane)


def _unique(draft: Draft, name: str) -> str:
    """The relation's name; with ``_<n>`` behind it for a further target, around names that are taken."""
    taken = {lane.name for lane in draft.lanes}
    if name not in taken:
        return name
    return next(f"{name}_{n}" for n in count(2) if f"{name}_{n}" not in taken | draft.relations.keys())


def _relation(draft: Draft, copy: Copy, name: str) -> Relation | None:
    """What is copied; None when it is unknown or broken, which is said once."""
    found = draft.relations.get(name)
    at = copy.relation.start if copy.relation is not None else copy.start
    if draft.is_broken(name) or (found is None and name in draft.names):
        return None
    if found is None:
        if name.startswith("dq."):
            draft.fail(f"{name} is not in this build", at, len(name), "expectations and their verdicts come later")
        elif name not in draft.queries:
            draft.fail(f"no table or view named {name}", at, len(name), draft.unknown(name))
        return None
    if not found.sources:
        hint = "a pipeline copies what comes from a stream; query static tables in twg repl"
        draft.fail(f"{name if copy.relation else 'this query'} reads no stream", at, len(name) if copy.relation else 4, hint)
        return None
    return found


def _sink(draft: Draft, copy: Copy, known: list[str]) -> tuple[SinkPlugin, CopyOptions, Any] | None:
    """The sink and its options; None when nobody claims the target or an option is wrong."""
    target = copy.target
    if copy.stored_as is None:
        draft.fail("expected STORED AS and a kind", target.start, len(target.value) + 2, "for example STORED AS PARQUET")
        return None
    kind = copy.stored_as
    try:
        plugin = sink(kind.value, known)
    except (UserError, MissingExtra) as e:
        draft.fail(e.message, kind.start, len(kind.value), e.hint)
        return None
    why = unclaimed(plugin, kind.value, target.value)
    if why is not None:
        draft.fail(why, target.start, len(target.value) + 2)
    place = (target.start, len(target.value) + 2)
    general: CopyOptions | None = binding.read(draft, copy.options, Reader(CopyOptions), place)
    own = binding.read(draft, copy.options, Reader(plugin.options), place)
    binding.refuse_unknown(draft, copy.options, [Reader(CopyOptions), Reader(plugin.options)])
    if copy.partitioned_by and not plugin.capabilities.partitioned:
        first = copy.partitioned_by[0]
        draft.fail(f"{kind.value.upper()} takes no PARTITIONED BY", first.start, len(str(first)))
    return None if why is not None or general is None or own is None else (plugin, general, own)


def _lane(draft: Draft, copy: Copy, relation: Relation, plugin: SinkPlugin, general: CopyOptions, own: Any) -> Lane | None:  # noqa: ANN401 - own options
    """The lane; None when it is refused."""
    before = len(draft.errors)
    policy = _policy(draft, copy, relation, general)
    schema = None if relation.schema is None else _with_metadata(relation.schema, policy, draft.prefix)
    partition_by = tuple(str(column) for column in copy.partitioned_by)
    if schema is not None:
        _partition_columns(draft, copy, schema)
    target = Target(copy.target.value, own, schema, partition_by)
    _refuse_twins(draft, copy, relation, plugin)
    if len(draft.errors) == before:
        at = (copy.relation.start, len(str(copy.relation))) if copy.relation is not None else (copy.start, len("COPY"))
        binding.complain(draft, copy.options, plugin.check(target), at)
    if len(draft.errors) > before:
        return None
    assert copy.stored_as is not None
    return Lane(
        name=_unique(draft, relation.name), relation=relation.name, sources=relation.sources, plugin=plugin, kind=copy.stored_as.value.upper(),
        location=copy.target.value, options=own, partition_by=partition_by, schema=schema, policy=policy, guarantee=plugin.guarantee(target),
        gates=True, role=general.role, dead_letters=relation.after_errors, at=draft.script.source.location(copy.start, 4),
    )  # fmt: skip


def _refuse_twins(draft: Draft, copy: Copy, relation: Relation, plugin: SinkPlugin) -> None:
    """The same rows into the same target twice would be read as twice as many."""
    for lane in draft.lanes:
        same = lane.relation == relation.name and lane.location.rstrip("/") == copy.target.value.rstrip("/")
        if same and plugin.capabilities.data:
            line = lane.at.line if lane.at is not None else 0
            draft.fail(f"{relation.name} is copied to this target twice", copy.target.start, len(copy.target.value) + 2, f"first in line {line}")


def _policy(draft: Draft, copy: Copy, relation: Relation, general: CopyOptions) -> Policy:
    """Which metadata columns the lane gets."""
    if relation.role in {"raw", "dlq"}:
        if general.metadata not in {None, "all"}:
            option = next(o for o in copy.options if o.key == "metadata")
            hint = f"to leave columns out, copy a query over {relation.name}"
            draft.fail(f"{relation.name} always has all metadata columns", option.start, len("'metadata'"), hint)
        return Policy.ALL
    if not relation.carries_rows and not draft.request.bounded:
        if general.metadata in {"locator", "all"}:
            option = next(o for o in copy.options if o.key == "metadata")
            hint = "twg check says why; 'metadata' 'none' is all that is possible"
            draft.fail(f"the rows of {relation.name} cannot be traced to their records", option.start, len("'metadata'"), hint)
        return Policy.NONE
    assert draft.values is not None
    return Policy(general.metadata or draft.values.metadata_policy)


def _with_metadata(schema: pa.Schema, policy: Policy, prefix: str) -> pa.Schema:
    """The relation's columns, then the policy's columns that it does not have yet."""
    wanted = [pa.field(prefix + name, TYPES[name]) for name in policy.columns() if policy is Policy.ALL or name not in AT_SINK]
    return pa.schema([*schema, *(f for f in wanted if f.name not in schema.names)])


def _partition_columns(draft: Draft, copy: Copy, schema: pa.Schema) -> None:
    """PARTITIONED BY names columns that are there, each once."""
    seen: set[str] = set()
    for column in copy.partitioned_by:
        name = str(column)
        if name not in schema.names:
            hint = nearest(name, schema.names) or f"columns: {listed(schema.names)}"
            draft.fail(f"no column named {name} to partition by", column.start, len(name), hint)
        elif name in seen:
            draft.fail(f"column {name} is named twice in PARTITIONED BY", column.start, len(name))
        seen.add(name)
