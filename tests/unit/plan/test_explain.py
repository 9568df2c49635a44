"""What ``twg check`` prints: golden texts, diagrams and JSON."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from thalweg import config
from thalweg.dialect.script import parse
from thalweg.engine.session import Session
from thalweg.plan.explain import FORMATS, explain
from thalweg.plan.planner import PlanRequest, make_plan

if TYPE_CHECKING:
    from thalweg.plan.graph import Plan

GOLDEN = Path(__file__).parents[2] / "golden" / "explain"
ENDINGS = {"text": ".txt", "mermaid": ".mmd", "json": ".json"}
CASES = [(file, form) for file in sorted(GOLDEN.glob("*.sql")) for form in FORMATS if file.with_suffix(ENDINGS[form]).exists()]


def planned(file: Path) -> Plan:
    """The plan of a golden pipeline, its folder beside it."""
    script = parse(file.read_text(encoding="utf-8"), file.name, {})
    return make_plan(script, PlanRequest(config.layers({}, {}), connect=False, base=str(file.parent)), Session())


@pytest.mark.parametrize(("file", "form"), CASES, ids=lambda value: getattr(value, "stem", value))
def test_golden(file: Path, form: str) -> None:
    """The graph, every schema, lineage, sharing, guarantees, gates and settings are shown word for word (DAG-17, CFG-22, CLI-10)."""
    said, recorded = explain(planned(file), form), file.with_suffix(ENDINGS[form])
    if os.environ.get("RECORD"):
        recorded.write_text(said, encoding="utf-8")
    assert said == recorded.read_text(encoding="utf-8")


def test_every_golden_pipeline_has_its_text() -> None:
    """No golden pipeline is forgotten."""
    assert {file for file, form in CASES if form == "text"} == set(GOLDEN.glob("*.sql"))
    assert len(CASES) >= 9


@pytest.mark.parametrize("form", FORMATS)
def test_no_secret_is_shown(form: str) -> None:
    """Passwords of URLs and options appear in no format (CFG-22)."""
    text = explain(planned(GOLDEN / "registry.sql"), form)

    assert "hidden" not in text
    if form != "mermaid":
        assert "http://reader:********@registry:8081" in text


def test_unresolved_schemas_are_said() -> None:
    """What lies in a registry is printed with its subject and never guessed (CL-02)."""
    text = explain(planned(GOLDEN / "registry.sql"))

    assert "schema unresolved: orders-value at http://reader:********@registry:8081; order-keys at http://registry:8081" in text
    assert "schema unresolved: its inputs are unresolved" in text


def test_json_is_whole_and_stable() -> None:
    """The JSON form has every part, nested types included, in a form that a program can walk."""
    found = json.loads(explain(planned(GOLDEN / "two_tables.sql"), "json"))

    page = next(column for column in found["sources"][0]["schema"] if column["name"] == "page")
    assert page == {
        "name": "page", "type": "struct",
        "parts": [
            {"name": "url", "type": "string"},
            {
                "name": "tags", "type": "map",
                "parts": [
                    {
                        "name": "entries", "type": "struct",
                        "parts": [{"name": "key", "type": "string"}, {"name": "value", "type": "list", "parts": [{"name": "item", "type": "int32"}]}],
                    }
                ],
            },
        ],
    }  # fmt: skip
    assert {"key": "budget.age", "value": "20 ms", "origin": "SET, two_tables.sql:1:5"} in found["settings"]


def test_labels_cannot_leave_their_quotes() -> None:
    """Names and locations are made harmless inside a diagram."""
    text = """CREATE EXTERNAL TABLE "a""]<b>" (x INT) STORED AS KAFKA LOCATION 'kafka://h:9/t' OPTIONS ('format' 'json');
    COPY "a""]<b>" TO './o/' STORED AS PARQUET;"""
    plan = make_plan(parse(text, "p.sql", {}), PlanRequest(config.layers({}, {}), connect=False, base="."), Session())

    diagram = explain(plan, "mermaid")

    assert 'a"]<b>' not in diagram
    assert "a#quot;]&lt;b&gt;" in diagram
