"""``'format' 'json'`` (one JSON object a record) and ``'json-confluent'`` (each record names its JSON Schema in a registry)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from thalweg.codecs.json.decoder import JsonDecoder
from thalweg.codecs.json.encode import row_encoder
from thalweg.codecs.json.framed import FramedJsonDecoder
from thalweg.codecs.json.framing import Frames
from thalweg.codecs.json.options import JsonOptions
from thalweg.codecs.json.table import PLAIN, table_of
from thalweg.errors import UserError
from thalweg.ports.codec import CodecPlugin, Decoder, DecodeRequest, subject_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from thalweg.ports.schemas import SchemaRegistry


def _registry(request: DecodeRequest) -> tuple[str, str] | None:
    """A schema file is a static registry of one; framed documents name their schemas in a registry, or in a folder."""
    options = request.options
    if request.format == PLAIN:
        return None if options.schema_file is None or request.declared is not None else ("static", options.schema_file)
    if options.url is None:
        return None
    if options.url.startswith("file:"):
        return "static", options.url.removeprefix("file:").removeprefix("//")
    return ("confluent" if "://" in options.url else "static"), options.url


def _resolve(request: DecodeRequest, registry: SchemaRegistry | None) -> pa.Schema | None:
    """The declared columns, else those of the JSON Schema."""
    found = table_of(request, registry)
    return None if found is None else found.schema


def _decoder(request: DecodeRequest, registry: SchemaRegistry | None) -> Decoder:
    """The columns must be known by now."""
    found = table_of(request, registry)
    if found is None or (request.format != PLAIN and registry is None):
        raise UserError(f"format '{request.format}' needs its schema {'file' if request.format == PLAIN else 'registry'} to decode")
    plain = JsonDecoder(found.schema, request.options, request.metadata_prefix, found.cuts)
    return plain if request.format == PLAIN or registry is None else FramedJsonDecoder(plain, Frames(registry, is_key=request.is_key), found.cuts)


def _encode_row(request: DecodeRequest, registry: SchemaRegistry | None) -> Callable[[dict[str, Any]], bytes]:
    """Writes rows by the columns; framed ones with the id of the subject's schema."""
    encode = row_encoder(_resolve(request, registry))
    if request.format == PLAIN or registry is None:
        return encode
    subject = subject_of(request)
    assert subject is not None
    found = registry.latest(subject)
    number = found.id if isinstance(found.id, int) else registry.register(subject, found)
    before = b"\0" + number.to_bytes(4, "big")
    return lambda row: before + encode(row)


PLUGIN = CodecPlugin(
    formats=("json", "json-confluent"),
    options=JsonOptions,
    registry=_registry,
    resolve=_resolve,
    decoder=_decoder,
    encode_row=_encode_row,
    fast="thalweg.codecs.json.fast:make",
)
