"""Plans for tests: a script in, a plan or its errors out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import pytest

from thalweg import config, registry
from thalweg.dialect.script import parse
from thalweg.engine.session import Session
from thalweg.errors import SchemaUnavailable, SchemaUnknown, ScriptErrors
from thalweg.plan.planner import PlanRequest, make_plan
from thalweg.ports.schemas import RegisteredSchema, RegistryPlugin, SchemaRegistry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from thalweg.plan.graph import Plan

ORDERS = """CREATE EXTERNAL TABLE orders (
  order_id BIGINT, customer ROW<id BIGINT, country STRING>, lines ARRAY<ROW<sku STRING, qty INT>>, amount DECIMAL(10, 2), status STRING
) STORED AS KAFKA LOCATION 'kafka://localhost:9092/orders' OPTIONS ('format' 'json');
"""
ORDER_SCHEMA = '{"type": "record", "name": "Order", "fields": [{"name": "order_id", "type": "long"}, {"name": "note", "type": ["null", "string"]}]}'


class Planner(Protocol):
    """Plans a script."""

    def __call__(self, text: str, *, connect: bool = False, base: str = ".", need_copy: bool = True, command_line: Mapping[str, str] | None = None) -> Plan:
        """Raises ScriptErrors."""


class Complaints(Protocol):
    """Plans a script that is wrong."""

    def __call__(self, text: str, *, connect: bool = False, base: str = ".") -> list[str]:
        """Every error as ``line:column message (hint)``."""


class StoredSchemas(SchemaRegistry):
    """A registry that knows one subject; ``silent`` ones give no answer."""

    def __init__(self, url: str) -> None:
        """``url`` decides whether it answers."""
        self.url = url

    def by_id(self, schema_id: int | str) -> RegisteredSchema:
        """One id."""
        return RegisteredSchema(schema_id, "AVRO", ORDER_SCHEMA)

    def latest(self, subject: str) -> RegisteredSchema:
        """One subject."""
        if "silent" in self.url:
            raise SchemaUnavailable("the registry gives no answer")
        if subject not in {"orders-value", "orders-key"}:
            raise SchemaUnknown(f"there is no subject '{subject}'")
        return RegisteredSchema(1, "AVRO", ORDER_SCHEMA)

    def register(self, subject: str, schema: RegisteredSchema) -> int:
        """Always the same id."""
        return 1

    def close(self) -> None:
        """Nothing to release."""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """URLs of the registries that were made; every registry is a stored one."""
    urls: list[str] = []
    real = registry.load

    def make(url: str, options: Mapping[str, str]) -> SchemaRegistry:
        urls.append(url + (" with a password" if "basic-auth.user-info" in options else ""))
        return StoredSchemas(url)

    def load(kind: str, name: str) -> object:
        return RegistryPlugin(make) if (kind, name) == ("registries", "confluent") else real(kind, name)

    monkeypatch.setattr(registry, "load", load)
    return urls


@pytest.fixture
def plan() -> Planner:
    """Plans a script without any settings around it."""

    def planner(
        text: str, *, connect: bool = False, base: str = ".", need_copy: bool = True, command_line: Mapping[str, str] | None = None
    ) -> Plan:
        layers = config.layers(command_line or {}, {})
        return make_plan(parse(text, "p.sql", {}), PlanRequest(layers, connect, base, need_copy), Session())

    return planner


@pytest.fixture
def complaints(plan: Planner) -> Complaints:
    """Plans a script that must be refused."""

    def refused(text: str, *, connect: bool = False, base: str = ".") -> list[str]:
        with pytest.raises(ScriptErrors) as found:
            plan(text, connect=connect, base=base)
        return [
            f"{e.location.line}:{e.location.column} {e.message}" + (f" ({e.hint})" if e.hint else "") for e in found.value.errors
        ]

    return refused
