"""A plan as text, as a Mermaid diagram and as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from thalweg.plan.facts import Facts, facts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from thalweg.plan.graph import Plan

FORMATS: Final = ("text", "mermaid", "json")
_UNSAFE: Final = str.maketrans({'"': "#quot;", "<": "&lt;", ">": "&gt;", "\n": " "})


def explain(plan: Plan, form: str = "text") -> str:
    """What the plan would do; ``form`` is one of ``FORMATS``. Ends with a newline."""
    writers: dict[str, Callable[[Facts], str]] = {"text": _text, "mermaid": _mermaid, "json": _json}
    return writers[form](facts(plan))


def _json(found: Facts) -> str:
    """The facts themselves."""
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def _mermaid(found: Facts) -> str:
    """A left-to-right flow chart: sources round, views square, targets slanted; materialised views have a double border."""
    numbers: dict[str, str] = {}

    def node(name: str) -> str:
        return numbers.setdefault(name, f"n{len(numbers)}")

    lines = ["flowchart LR"]
    lines += [f'  {node(s["name"])}(["{_safe(s["name"])}<br/>{_safe(s["kind"] + " " + s["location"])}"])' for s in found["sources"]]
    lines += [f'  {node(s["name"])}[("{_safe(s["name"])}")]' for s in found["statics"]]
    lines += [f'  {node(s["name"])}(["{_safe(s["name"])}"])' for s in found["lanes_read"]]
    for n in found["nodes"]:
        opening, closing = ("[[", "]]") if n["materialised"] else ("[", "]")
        lines.append(f'  {node(n["name"])}{opening}"{_safe(n["name"])}"{closing}')
    for t in found["targets"]:
        mark = " (gates)" if t["gates"] else ""
        lines.append(f'  {node("-> " + t["name"])}[/"{_safe(t["kind"] + " " + t["location"])}<br/>{t["guarantee"]}{mark}"/]')
    lines += [f"  {node(a)} --> {node(b)}" for a, b in found["edges"] if a in numbers and b in numbers]
    return "\n".join(lines) + "\n"


def _safe(text: str) -> str:
    """Text inside a Mermaid label."""
    return text.translate(_UNSAFE)


def _text(found: Facts) -> str:
    """Sections with a heading each, for reading from top to bottom."""
    sections = [
        [f"pipeline {found['pipeline']} ({found['file']})"],
        ["graph", *_graph(found)],
        *(_source(source) for source in found["sources"]),
        *(_static(table) for table in found["statics"]),
        *([f"lane {lane['name']}", *_columns(lane["schema"], "")] for lane in found["lanes_read"]),
        *(_node(node) for node in found["nodes"]),
        *(_target(target) for target in found["targets"]),
        ["offsets", *(line for offsets in found["offsets"] for line in _offsets(offsets))],
        ["settings", *_settings(found["settings"])],
    ]
    if found["notes"]:
        sections.append(["notes", *(f"  {note}" for note in found["notes"])])
    return "\n\n".join("\n".join(line.rstrip() for line in section) for section in sections) + "\n"


def _graph(found: Facts) -> list[str]:
    """Every relation with who reads it."""
    names = {f"-> {t['name']}": f"{t['kind']} {t['location']}" for t in found["targets"]}
    readers: dict[str, list[str]] = {}
    for reader in (*found["sources"], *found["statics"], *found["lanes_read"], *found["nodes"]):
        readers.setdefault(reader["name"], [])
    for a, b in found["edges"]:
        readers.setdefault(a, []).append(names.get(b, b))
    return [f"  {name} -> {', '.join(dict.fromkeys(who)) if who else 'nobody'}" for name, who in readers.items()]


def _source(source: Facts) -> list[str]:
    """A streaming table."""
    formats = source["format"] + (f", key {source['key_format']}" if "key_format" in source else "")
    policies = f"bad data {source['bad_data']}, tombstones {source['tombstones']}, query errors {source['sql_on_error']}"
    out = [f"table {source['name']}: {source['kind']} {source['location']}", f"  format {formats}; {policies}"]
    if "group" in source:
        out.append(f"  group {source['group']}")
    if source["starts"]:
        out.append(f"  resumes at: {source['starts']}")
    marks = dict.fromkeys(source["not_null"], "not null")
    marks |= {name: f"metadata {key}" for name, key in source["metadata"].items()}
    return [*out, *_columns(source["schema"], "; ".join(source.get("unresolved", ())), marks)]


def _static(table: Facts) -> list[str]:
    """A bounded table."""
    return [f"static table {table['name']}: {table['kind']} {table['location']}", *_columns(table["schema"], "remote files are not asked")]


def _node(node: Facts) -> list[str]:
    """A view or the query of a COPY."""
    if node["static"]:
        rows = "static"
    elif node["row_lineage"]:
        rows = "rows are traced to their records"
    else:
        rows = f"rows are not traced: {node['why_not']}; its span is the epoch's"
    how = "computed once an epoch" if node["materialised"] else "read by nobody" if not node["readers"] else "inlined"
    head = f"{'view' if node['view'] else 'query'} {node['name']}"
    return [head, f"  {how}; {rows}", *_columns(node["schema"], "its inputs are unresolved")]


def _target(target: Facts) -> list[str]:
    """A COPY."""
    where = f"target {target['name']}: {target['kind']} {target['location']}"
    if target["partitioned_by"]:
        where += f", partitioned by {', '.join(target['partitioned_by'])}"
    gate = "holds back the offsets" if target["gates"] else "does not hold back the offsets"
    role = ", primary raw" if target["role"] == "primary_raw" else ""
    out = [where, f"  {target['guarantee']}; {gate}{role}"]
    columns = ", ".join(target["metadata_columns"])
    out.append(f"  metadata {target['metadata']}" + (f": {columns}" if columns and target["metadata"] == "locator" else ""))
    return out


def _offsets(offsets: Facts) -> list[str]:
    """The gate rule, applied to one table."""
    gating = offsets["gating"]
    if not gating:
        return [f"  {offsets['table']}: read by no target"]
    out = [f"  {offsets['table']}: committed after {', '.join(gating)} {'has' if len(gating) == 1 else 'have'} the rows"]
    if "pace" in offsets:
        out += [f"    {offsets['pace']}", f"    way out: {offsets['way_out']}"]
    return out


def _settings(settings: list[Facts]) -> list[str]:
    """Key, value and where it came from, aligned."""
    shown = [(s["key"], s["value"] or "-", s["origin"]) for s in settings]
    return _aligned(shown)


def _columns(schema: list[Facts] | None, unresolved: str, marks: dict[str, str] | None = None) -> list[str]:
    """One line for each column, parts of nested ones indented under it."""
    if schema is None:
        return [f"  schema unresolved: {unresolved}" if unresolved else "  schema unresolved"]
    return _aligned(list(_lines(schema, marks or {}, 0)))


def _lines(schema: Iterable[Facts], marks: dict[str, str], depth: int) -> Iterable[tuple[str, str, str]]:
    """Name, type and remark of every column and part."""
    for field in schema:
        remark = ", ".join(word for word in (field.get("meaning", ""), marks.get(field["name"], "") if depth == 0 else "") if word)
        yield "  " * depth + field["name"], field["type"], remark
        yield from _lines(_visible(field), marks, depth + 1)


def _visible(field: Facts) -> list[dict[str, Any]]:
    """The parts of a nested type; Arrow's inner ``entries`` of a map is left out."""
    parts: list[dict[str, Any]] = field.get("parts", [])
    if field["type"] == "map" and len(parts) == 1:
        return list(parts[0].get("parts", []))
    return parts


def _aligned(rows: list[tuple[str, str, str]]) -> list[str]:
    """Three columns under each other."""
    first = max((len(row[0]) for row in rows), default=0)
    second = max((len(row[1]) for row in rows if row[2]), default=0)
    return [f"  {a:<{first}}  {b:<{second}}  {c}".rstrip() for a, b, c in rows]
