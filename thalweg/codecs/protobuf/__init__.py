"""``'format' 'protobuf'`` (plain messages) and ``'protobuf-confluent'`` (each record names its schema and message in a registry)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.codecs.protobuf.decoder import ProtobufDecoder
from thalweg.codecs.protobuf.encode import row_encoder
from thalweg.codecs.protobuf.named import naming_of
from thalweg.codecs.protobuf.options import ProtobufOptions
from thalweg.codecs.protobuf.table import table_of
from thalweg.errors import UserError
from thalweg.ports.codec import CodecPlugin, Decoder, DecodeRequest

if TYPE_CHECKING:
    import pyarrow as pa

    from thalweg.ports.schemas import SchemaRegistry


def _registry(request: DecodeRequest) -> tuple[str, str] | None:
    """Files hold the descriptors of plain messages; a registry by its URL, or a folder, those of framed ones."""
    options = request.options
    if request.format == "protobuf":
        return None if options.descriptor is None else ("descriptors", options.descriptor)
    if options.url is None:
        return None
    if options.url.startswith("file:"):
        return "static", options.url.removeprefix("file:").removeprefix("//")
    return ("confluent" if "://" in options.url else "static"), options.url


def _resolve(request: DecodeRequest, registry: SchemaRegistry | None) -> pa.Schema | None:
    """Schema of the columns."""
    table = table_of(request, registry)
    return None if table is None else table.schema


def _decoder(request: DecodeRequest, registry: SchemaRegistry | None) -> Decoder:
    """A decoder needs its descriptors."""
    table = table_of(request, registry)
    if table is None or registry is None:
        raise UserError(f"format '{request.format}' needs its descriptors to decode")
    asked = None if request.format == "protobuf" else registry
    return ProtobufDecoder(table, asked, is_key=request.is_key, naming=naming_of(request), wanted=request.wanted)


PLUGIN = CodecPlugin(
    formats=("protobuf", "protobuf-confluent"),
    options=ProtobufOptions,
    registry=_registry,
    resolve=_resolve,
    decoder=_decoder,
    settings=("decode.max_depth",),
    encode_row=row_encoder,
    fast="thalweg.codecs.protobuf.fast:make",
)
