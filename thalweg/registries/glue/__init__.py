"""``'format' 'avro-glue'``: AWS Glue Schema Registry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.ports.http_options import read_registry_options
from thalweg.ports.schemas import RegistryPlugin, SchemaRegistry
from thalweg.registries.glue.client import GlueRegistry
from thalweg.registries.glue.options import GlueOptions

if TYPE_CHECKING:
    from collections.abc import Mapping


def _make(url: str, options: Mapping[str, str]) -> SchemaRegistry:
    """A client; it looks for credentials and connects when it is first asked."""
    return GlueRegistry(url, read_registry_options(GlueOptions, options))


PLUGIN = RegistryPlugin(make=_make, options=GlueOptions)
