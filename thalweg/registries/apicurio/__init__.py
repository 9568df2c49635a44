"""``'apicurio.url' 'http://...'``: Apicurio Registry by its own API, version 2 or 3."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.ports.http_options import read_registry_options
from thalweg.ports.schemas import RegistryPlugin, SchemaRegistry
from thalweg.registries.apicurio.client import ApicurioRegistry
from thalweg.registries.apicurio.options import ApicurioOptions

if TYPE_CHECKING:
    from collections.abc import Mapping


def _make(url: str, options: Mapping[str, str]) -> SchemaRegistry:
    """A client; it connects when it is first asked."""
    return ApicurioRegistry(url, read_registry_options(ApicurioOptions, options))


PLUGIN = RegistryPlugin(make=_make, options=ApicurioOptions)
