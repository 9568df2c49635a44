"""Formats to codecs, and codecs to the registries their schemas lie in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from thalweg import registry
from thalweg.errors import MissingExtra, PipelineError, SchemaUnavailable, UserError
from thalweg.model.options import redact_url
from thalweg.plan.draft import listed, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from thalweg.plan.graph import PayloadFormat
    from thalweg.ports.codec import CodecPlugin
    from thalweg.ports.schemas import RegistryPlugin, SchemaRegistry


def codec(name: str) -> CodecPlugin:
    """The codec that claims a format; raises UserError with the nearest one."""
    head = name.partition("-")[0]
    known = registry.names("codecs")
    if head in known:
        plugin: CodecPlugin = registry.load("codecs", head)
        if name in plugin.formats:
            return plugin
    formats: list[str] = []
    for other in known:
        try:
            plugin = registry.load("codecs", other)
        except MissingExtra:
            continue
        if name in plugin.formats:
            return plugin
        formats += plugin.formats
    raise UserError(f"unknown format '{name}'", hint=nearest(name, formats) or f"formats: {listed(sorted(formats))}")


def located(found: tuple[str, str] | None, base: str) -> tuple[str, str] | None:
    """The registry that a codec asks for; the path of a local one is taken from the pipeline's folder."""
    if found is None or not registry.load("registries", found[0]).local:
        return found
    return found[0], str(beside(found[1], base))


def beside(path: str, base: str) -> Path:
    """A file that is read: beside the pipeline where it exists there, else in the current directory."""
    wanted = Path(path).expanduser()
    return next((place for place in (Path(base) / wanted, wanted) if place.exists()), Path(base) / wanted)


def open_registry(found: tuple[str, str] | None, options: Mapping[str, str], *, connect: bool) -> SchemaRegistry | None:
    """The registry of a format; one that takes a connection stays closed unless ``connect``."""
    if found is None:
        return None
    plugin: RegistryPlugin = registry.load("registries", found[0])
    return plugin.make(found[1], options) if connect or plugin.local else None


def resolve(payload: PayloadFormat, *, connect: bool) -> pa.Schema | None:
    """Schema of a payload's columns, None while it lies in a registry that may not be asked; raises UserError."""
    opened = open_registry(payload.registry, payload.registry_options, connect=connect)
    try:
        found: pa.Schema | None = payload.codec.resolve(payload.request, opened)
    except PipelineError as e:
        place = redact_url(payload.registry[1]) if payload.registry else ""
        where = f" ({place})" if place and place not in e.message else ""
        refused = UserError(f"{e.message}{where}", hint=e.hint)
        refused.unanswered = isinstance(e, SchemaUnavailable) and payload.registry is not None and not registry.load("registries", payload.registry[0]).local
        raise refused from e
    finally:
        if opened is not None:
            opened.close()
    return found


def registry_options(format_name: str, values: Mapping[str, str]) -> dict[str, Any]:
    """The format's own keys without their prefix; of ``avro-glue`` also those of ``glue``, which formats share."""
    out = {}
    for before in (f"{format_name.partition('-')[2]}.", f"{format_name}."):
        out.update({key[len(before) :]: value for key, value in values.items() if key.startswith(before)})
    return out
