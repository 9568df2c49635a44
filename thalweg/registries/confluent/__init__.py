"""``'avro-confluent.url' 'http://...'``: a schema registry that speaks Confluent's protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.ports.schemas import RegistryPlugin, SchemaRegistry
from thalweg.registries.confluent.client import ConfluentRegistry
from thalweg.registries.confluent.options import ConfluentOptions, read_options

if TYPE_CHECKING:
    from collections.abc import Mapping


def _make(url: str, options: Mapping[str, str]) -> SchemaRegistry:
    """A client; it connects when it is first asked."""
    return ConfluentRegistry(url, read_options(options))


PLUGIN = RegistryPlugin(make=_make, options=ConfluentOptions)
