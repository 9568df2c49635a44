"""``'format' 'json'``: one JSON object a record, read by a column list or a JSON Schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from thalweg.codecs.json.decoder import JsonDecoder
from thalweg.codecs.json.encode import row_encoder
from thalweg.codecs.json.jsonschema import JsonSchemaError, columns_of
from thalweg.codecs.json.options import JsonOptions
from thalweg.codecs.json.values import Unsupported, converter
from thalweg.errors import UserError
from thalweg.ports.codec import CodecPlugin, Decoder, DecodeRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from thalweg.ports.schemas import SchemaRegistry


def _registry(request: DecodeRequest) -> tuple[str, str] | None:
    """A schema file is a static registry of one."""
    path = request.options.schema_file
    return None if path is None or request.declared is not None else ("static", path)


def _resolve(request: DecodeRequest, registry: SchemaRegistry | None) -> pa.Schema | None:
    """The declared columns, else those of the JSON Schema; each of a type that JSON can give."""
    schema = request.declared if request.declared is not None and len(request.declared) else _from_schema(request, registry)
    for field in schema or ():
        if field.name.startswith(request.metadata_prefix):
            raise UserError(f"column '{field.name}' begins with '{request.metadata_prefix}', which is kept for metadata columns")
        try:
            converter(field)
        except Unsupported as e:
            raise UserError(f"column '{field.name}': no JSON value can become {e}") from None
    return schema


def _from_schema(request: DecodeRequest, registry: SchemaRegistry | None) -> pa.Schema | None:
    """The columns of the JSON Schema that an option names; None while its file was not opened."""
    options = request.options
    if options.schema is None and options.schema_file is None:
        message = "format 'json' needs a column list or 'json.schema': a stream's schema is never guessed"
        raise UserError(message, hint="declare the payload's columns, such as (order_id BIGINT, note STRING)")
    if options.schema is None and registry is None:
        return None
    text = options.schema if options.schema is not None or registry is None else registry.latest(options.schema_file).text
    try:
        return columns_of(str(text))
    except JsonSchemaError as e:
        raise UserError(f"the JSON Schema cannot be read: {e}") from None


def _decoder(request: DecodeRequest, registry: SchemaRegistry | None) -> Decoder:
    """The columns must be known by now."""
    schema = _resolve(request, registry)
    if schema is None:
        raise UserError(f"format '{request.format}' needs its schema file to decode")
    return JsonDecoder(schema, request.options, request.metadata_prefix)


def _encode_row(request: DecodeRequest, registry: SchemaRegistry | None) -> Callable[[dict[str, Any]], bytes]:
    """Writes rows by the columns."""
    return row_encoder(_resolve(request, registry))


PLUGIN = CodecPlugin(
    formats=("json",),
    options=JsonOptions,
    registry=_registry,
    resolve=_resolve,
    decoder=_decoder,
    encode_row=_encode_row,
    fast="thalweg.codecs.json.fast:make",
)
