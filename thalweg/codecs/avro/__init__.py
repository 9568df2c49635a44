"""``'format' 'avro'`` (plain data), ``'avro-confluent'`` (each record names its schema) and what container files hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.arrow.container import path_of
from thalweg.codecs.avro.decoder import AvroDecoder
from thalweg.codecs.avro.encode import row_encoder
from thalweg.codecs.avro.framing import SINGLE_OBJECT
from thalweg.codecs.avro.options import AvroOptions
from thalweg.codecs.avro.single_object import Fingerprints
from thalweg.codecs.avro.table import CONTAINER, SINGLE, Table, table_of, undeclared
from thalweg.errors import UserError
from thalweg.ports.codec import CodecPlugin, Decoder, DecodeRequest
from thalweg.ports.schemas import RegisteredSchema

if TYPE_CHECKING:
    import pyarrow as pa

    from thalweg.ports.schemas import SchemaRegistry


def _registry(request: DecodeRequest) -> tuple[str, str] | None:
    """A registry by its URL; a path or ``file:`` URL is the static registry."""
    options = request.options
    if request.format == CONTAINER:
        return "containers", path_of(request.topic or "")
    if request.format in {"avro", SINGLE}:
        path = options.schema_folder if request.format == SINGLE else None
        path = path or (options.schema_file if options.schema is None else None)
        return None if path is None else ("static", path.removeprefix("file:").removeprefix("//"))
    url = options.url
    if url is None or url.startswith("file:"):
        return None if url is None else ("static", url.removeprefix("file:").removeprefix("//"))
    return ("confluent" if "://" in url else "static"), url


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
    framed = request.format not in {"avro", SINGLE}
    if table is None or (framed and registry is None):
        raise UserError(f"format '{request.format}' needs its schema registry to decode")
    if request.format == SINGLE:
        text = request.options.schema
        given = [] if text is None else [RegisteredSchema("avro.schema", "AVRO", text)]
        known = Fingerprints(given, registry)
        return AvroDecoder(table, request.metadata_prefix, known, framing=SINGLE_OBJECT, is_key=request.is_key, wanted=request.wanted)
    return AvroDecoder(table, request.metadata_prefix, registry if framed else None, is_key=request.is_key, wanted=request.wanted)


PLUGIN = CodecPlugin(
    formats=("avro", "avro-confluent", SINGLE, CONTAINER),
    options=AvroOptions,
    registry=_registry,
    resolve=_resolve,
    decoder=_decoder,
    settings=("decode.max_depth",),
    encode_row=row_encoder,
    fast="thalweg.codecs.avro.fast:make",
)
