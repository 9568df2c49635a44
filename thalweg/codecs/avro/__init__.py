"""``'format' 'avro'`` (plain data) and ``'avro-confluent'`` (each record names its schema in a registry)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.codecs.avro.decoder import AvroDecoder
from thalweg.codecs.avro.encode import row_encoder
from thalweg.codecs.avro.options import AvroOptions
from thalweg.codecs.avro.table import Table, table_of, undeclared
from thalweg.errors import UserError
from thalweg.ports.codec import CodecPlugin, Decoder, DecodeRequest

if TYPE_CHECKING:
    import pyarrow as pa

    from thalweg.ports.schemas import SchemaRegistry


def _registry(request: DecodeRequest) -> tuple[str, str] | None:
    """A registry by its URL; a path or ``file:`` URL is the static registry."""
    options = request.options
    url = options.schema_file if request.format == "avro" else options.url
    if url is None or (request.format == "avro" and options.schema is not None):
        return None
    if url.startswith("file:"):
        return "static", url.removeprefix("file:").removeprefix("//")
    return ("confluent", url) if "://" in url and request.format != "avro" else ("static", url)


def _table(request: DecodeRequest, registry: SchemaRegistry | None) -> Table | None:
    """The table's columns."""
    return undeclared(request) or table_of(request, registry)


def _resolve(request: DecodeRequest, registry: SchemaRegistry | None) -> pa.Schema | None:
    """Schema of the columns."""
    table = _table(request, registry)
    return None if table is None else table.schema


def _decoder(request: DecodeRequest, registry: SchemaRegistry | None) -> Decoder:
    """A decoder; one for framed data needs its registry."""
    table = _table(request, registry)
    framed = request.format != "avro"
    if table is None or (framed and registry is None):
        raise UserError(f"format '{request.format}' needs its schema registry to decode")
    return AvroDecoder(table, request.metadata_prefix, registry if framed else None, is_key=request.is_key)


PLUGIN = CodecPlugin(
    formats=("avro", "avro-confluent"),
    options=AvroOptions,
    registry=_registry,
    resolve=_resolve,
    decoder=_decoder,
    settings=("decode.max_depth",),
    encode_row=row_encoder,
    fast="thalweg.codecs.avro.fast:make",
)
