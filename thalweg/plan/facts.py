"""Everything that a plan says, as plain values: what ``twg check`` prints in each of its formats. Secrets are left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from thalweg.arrow.metadata import dead_letter_schema, raw_schema
from thalweg.model.options import redact_url
from thalweg.plan.type_names import SEMANTIC_KEY

if TYPE_CHECKING:
    import pyarrow as pa

    from thalweg.plan.graph import Lane, Node, PayloadFormat, Plan, SourceTable, StaticTable

Facts = dict[str, Any]
_WAY_OUT: Final = (
    "give a slow target a pipeline file and a group of its own; with 'role' 'primary_raw' on a COPY of raw.* the others will follow by themselves "
    "once replay from raw is there"
)


def facts(plan: Plan) -> Facts:
    """The whole plan; keys and their order are stable."""
    return {
        "pipeline": plan.settings.name,
        "file": plan.source.file,
        "sources": [_source(plan, table) for table in plan.sources],
        "statics": [_static(table) for table in plan.statics],
        "lanes_read": [_system(plan, name) for name in _systems(plan)],
        "nodes": [_node(plan, node) for node in plan.nodes],
        "targets": [_target(plan, lane) for lane in plan.lanes],
        "edges": edges(plan),
        "offsets": [_offsets(plan, table) for table in plan.sources],
        "settings": [
            {"key": key, "value": value, "origin": plan.settings.origins.get(key, "default")} for key, value in plan.settings.shown.items()
        ],
        "notes": list(plan.rewrites),
    }


def edges(plan: Plan) -> list[tuple[str, str]]:
    """Who reads whom; a target's end is ``-> name``."""
    out = [(name, node.name) for node in plan.nodes for name in node.inputs]
    out += [(lane.relation, f"-> {lane.name}") for lane in plan.lanes]
    read = {name for name, _ in out}
    lanes = [(table.name, f"{head}.{table.name}") for table in plan.sources for head in ("raw", "dlq") if f"{head}.{table.name}" in read]
    lanes += [(table.name, "dlq.all") for table in plan.sources if "dlq.all" in read]
    return lanes + out


def fields(schema: pa.Schema | None) -> list[Facts] | None:
    """Columns with their types, nested ones with their parts; None while the schema is unresolved."""
    return None if schema is None else [_field(field) for field in schema]


def _field(field: pa.Field) -> Facts:
    """One column."""
    meaning = (field.metadata or {}).get(SEMANTIC_KEY, b"").decode()
    out: Facts = {"name": field.name, "type": str(field.type)}
    parts = [field.type.field(i) for i in range(field.type.num_fields)]
    if parts:
        out["type"] = str(field.type).partition("<")[0]
        out["parts"] = [_field(part) for part in parts]
    if meaning:
        out["meaning"] = meaning
    return out


def _source(plan: Plan, table: SourceTable) -> Facts:
    """A streaming table."""
    out: Facts = {
        "name": table.name,
        "kind": table.kind,
        "location": redact_url(table.location),
        "format": table.value.request.format,
        "bad_data": table.bad_data,
        "tombstones": table.tombstones,
        "sql_on_error": table.sql_on_error,
    }
    if table.key is not None:
        out["key_format"] = table.key.request.format
    if table.plugin.capabilities.groups:
        out["group"] = dict(getattr(table.options, "properties", {})).get("group.id") or f"twg-{plan.settings.name}"
    out["starts"] = table.plugin.describe_start(table.location, table.options)
    if table.schema is None:
        out["unresolved"] = [_unresolved(side) for side in (table.value, table.key) if side is not None and side.registry is not None]
    out["not_null"] = list(table.not_null)
    out["metadata"] = {column.name: column.key for column in table.metadata}
    out["schema"] = fields(table.schema)
    return out


def _unresolved(side: PayloadFormat) -> str:
    """Where a schema lies."""
    topic = side.request.topic
    kind, url = side.registry or ("", "")
    own = getattr(side.request.options, {"glue": "schema", "apicurio": "artifact"}.get(kind, "subject"), None)
    if kind == "glue":
        return f"{own or topic or 'the schema of each topic'} in AWS Glue" + (f" at {redact_url(url)}" if url else "")
    subject = own or (f"{topic}-{'key' if side.request.is_key else 'value'}" if topic else "the subject of each topic")
    return f"{subject} at {redact_url(side.registry[1])}" if side.registry else subject


def _static(table: StaticTable) -> Facts:
    """A bounded table."""
    return {"name": table.name, "kind": table.kind, "location": redact_url(table.location), "schema": fields(table.schema)}


def _systems(plan: Plan) -> list[str]:
    """Raw and dead-letter lanes that somebody reads."""
    read = {name for node in plan.nodes for name in node.inputs} | {lane.relation for lane in plan.lanes}
    return sorted(name for name in read if name.partition(".")[0] in {"raw", "dlq"} and "." in name)


def _system(plan: Plan, name: str) -> Facts:
    """A lane that the pipeline fills itself."""
    prefix = plan.settings.metadata_prefix
    return {"name": name, "schema": fields(raw_schema(prefix) if name.startswith("raw.") else dead_letter_schema(prefix))}


def _node(plan: Plan, node: Node) -> Facts:
    """A query."""
    readers = [other.name for other in plan.nodes if node.name in other.inputs] + [
        f"-> {lane.name}" for lane in plan.lanes if lane.relation == node.name
    ]
    return {
        "name": node.name,
        "view": node.is_view,
        "at": str(node.at) if node.at else None,
        "reads": list(node.inputs),
        "readers": readers,
        "materialised": node.shared,
        "row_lineage": node.spliced is not None,
        "why_not": node.opaque,
        "static": not node.sources,
        "schema": fields(node.schema),
    }


def _target(plan: Plan, lane: Lane) -> Facts:
    """A COPY."""
    prefix = plan.settings.metadata_prefix
    return {
        "name": lane.name,
        "relation": lane.relation,
        "kind": lane.kind,
        "location": redact_url(lane.location),
        "partitioned_by": list(lane.partition_by),
        "guarantee": lane.guarantee.value,
        "gates": lane.gates,
        "role": lane.role,
        "metadata": lane.policy.value,
        "metadata_columns": [name for name in (lane.schema.names if lane.schema is not None else []) if name.startswith(prefix)],
        "delivers": lane.plugin.capabilities.delivers,
    }


def _offsets(plan: Plan, table: SourceTable) -> Facts:
    """Who holds back a table's offsets, and the way out where several do."""
    gating = [lane for lane in plan.lanes if lane.gates and table.name in lane.sources]
    data = [lane.name for lane in gating if not lane.dead_letters]
    out: Facts = {"table": table.name, "gating": [lane.name for lane in gating]}
    if len(data) > 1:
        out["pace"] = f"{', '.join(data)}: the slowest sets the pace of all"
        out["way_out"] = _WAY_OUT
    return out
