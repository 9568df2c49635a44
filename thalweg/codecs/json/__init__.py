"""``'format' 'json'``: one JSON object a record, read by a declared column list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from thalweg.codecs.json.decoder import JsonDecoder
from thalweg.codecs.json.encode import row_encoder
from thalweg.codecs.json.options import JsonOptions
from thalweg.codecs.json.values import Unsupported, converter
from thalweg.errors import UserError
from thalweg.ports.codec import CodecPlugin, Decoder, DecodeRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from thalweg.ports.schemas import SchemaRegistry


def _resolve(request: DecodeRequest, registry: SchemaRegistry | None) -> pa.Schema:  # noqa: ARG001 - the port's signature
    """The declared columns, each of a type that JSON can give."""
    if request.declared is None or len(request.declared) == 0:
        message = "format 'json' needs a column list: a stream's schema is never guessed"
        raise UserError(message, hint="declare the payload's columns, such as (order_id BIGINT, note STRING)")
    for field in request.declared:
        if field.name.startswith(request.metadata_prefix):
            raise UserError(f"column '{field.name}' begins with '{request.metadata_prefix}', which is kept for metadata columns")
        try:
            converter(field)
        except Unsupported as e:
            raise UserError(f"column '{field.name}': no JSON value can become {e}") from None
    return request.declared


def _decoder(request: DecodeRequest, registry: SchemaRegistry | None) -> Decoder:
    """Needs no registry."""
    return JsonDecoder(_resolve(request, registry), request.options, request.metadata_prefix)


def _encode_row(request: DecodeRequest, registry: SchemaRegistry | None) -> Callable[[dict[str, Any]], bytes]:  # noqa: ARG001 - as above
    """Writes rows by the declared columns."""
    return row_encoder(request.declared)


PLUGIN = CodecPlugin(
    formats=("json",),
    options=JsonOptions,
    registry=lambda _request: None,
    resolve=_resolve,
    decoder=_decoder,
    encode_row=_encode_row,
)
