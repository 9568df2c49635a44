"""The inner codec's fast decoder behind the envelope."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

from thalweg import registry as plugins
from thalweg.codecs.enveloped.decoder import Enveloped

if TYPE_CHECKING:
    from thalweg.ports.codec import Decoder, DecodeRequest
    from thalweg.ports.schemas import SchemaRegistry

_INNER: Final = ("avro", "json", "protobuf")


def warm_up() -> None:
    """Compile, or load, what the inner codecs need."""
    for name in _INNER:
        path: str = plugins.load("codecs", name).fast
        plugins.attribute(f"{path.partition(':')[0]}:warm_up")()


def make(request: DecodeRequest, _registry: SchemaRegistry | None, reference: Decoder) -> Decoder | None:
    """The same envelope before the inner codec's fast decoder; None where it has none for this schema."""
    if not isinstance(reference, Enveloped) or reference.fast is None:
        return None
    inner: Decoder | None = plugins.attribute(reference.fast)(
        dataclasses.replace(reference.request, wanted=request.wanted), reference.registry, reference.inner
    )
    return None if inner is None else reference.over(inner)
