"""``'format' 'raw'``: the payload as it is, in one column of BYTES or STRING."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.types as kinds

from thalweg.arrow.batch import BadRows, Decoded
from thalweg.arrow.columns import column_of
from thalweg.arrow.rows import MALFORMED, BadValue, RowCollector, bounded
from thalweg.errors import UserError
from thalweg.ports.codec import CodecPlugin, Decoder, DecodeRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from thalweg.ports.schemas import SchemaRegistry


@dataclass(frozen=True, slots=True)
class _RawOptions:
    """The format takes no options."""


class _RawDecoder(Decoder):
    """Bytes are shared, not copied; text is checked to be UTF-8."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._type = schema.field(0).type

    @property
    def schema(self) -> pa.Schema:
        """One column."""
        return self._schema

    def decode(self, payloads: pa.BinaryArray, headers: pa.ListArray | None) -> Decoded:  # noqa: ARG002 - the port's signature
        """The whole batch at once; row by row only when some payload is no UTF-8."""
        try:
            values = payloads.cast(self._type)
        except pa.ArrowInvalid:
            return self._one_by_one(payloads)
        batch = pa.RecordBatch.from_arrays([values], schema=self._schema)
        return Decoded(batch, pa.array(range(len(payloads)), pa.int32()), BadRows())

    def _one_by_one(self, payloads: pa.BinaryArray) -> Decoded:
        """Sets the payloads aside that are no UTF-8."""
        rows = RowCollector(self._schema, [column_of(self._type)])
        for row, payload in enumerate(payloads.to_pylist()):
            try:
                rows.add(row, (payload.decode("utf-8"),))
            except UnicodeDecodeError as e:
                rows.reject(row, BadValue(MALFORMED, f"invalid UTF-8 at byte {e.start}").inside(self._schema.field(0).name))
        return rows.finish()


def _resolve(request: DecodeRequest, registry: SchemaRegistry | None) -> pa.Schema:  # noqa: ARG001 - the port's signature
    """The declared column, or ``value``."""
    declared = request.declared
    if declared is None or len(declared) == 0:
        return pa.schema([pa.field("value", pa.binary())])
    hint = "or choose another 'format'"
    if len(declared) > 1:
        message = f"format 'raw' makes one column, but {len(declared)} are declared ({', '.join(declared.names[:4])})"
        raise UserError(message, hint=hint)
    kind = declared.field(0).type
    if not (kinds.is_binary(kind) or kinds.is_string(kind) or kinds.is_large_binary(kind) or kinds.is_large_string(kind)):
        message = f"column '{declared.field(0).name}': format 'raw' gives BYTES or STRING, not {kind}"
        raise UserError(message, hint=hint)
    return declared


def _decoder(request: DecodeRequest, registry: SchemaRegistry | None) -> Decoder:
    """Needs no registry."""
    return _RawDecoder(_resolve(request, registry))


def _encode_row(request: DecodeRequest, registry: SchemaRegistry | None) -> Callable[[dict[str, Any]], bytes]:
    """The one column's bytes, text as UTF-8."""
    name = _resolve(request, registry).field(0).name

    def encode(row: dict[str, Any]) -> bytes:
        value = row.get(name)
        if isinstance(value, str):
            return value.encode("utf-8")
        if isinstance(value, bytes):
            return value
        reason = f"{bounded(repr(value))} is neither bytes nor text" if name in row else f"the query gives {', '.join(row) or 'nothing'} only"
        raise UserError(f"a row cannot be written as raw bytes: column '{name}': {reason}")

    return encode


PLUGIN = CodecPlugin(
    formats=("raw",),
    options=_RawOptions,
    registry=lambda _request: None,
    resolve=_resolve,
    decoder=_decoder,
    encode_row=_encode_row,
)
