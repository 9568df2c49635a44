"""JSON documents to the declared columns, one payload at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.arrow.columns import column_of
from thalweg.arrow.rows import RESERVED, BadValue, RowCollector
from thalweg.codecs.json.scan import Slices, parse
from thalweg.codecs.json.values import record, slices_of
from thalweg.ports.codec import Decoder

if TYPE_CHECKING:
    import pyarrow as pa

    from thalweg.arrow.batch import Decoded
    from thalweg.codecs.json.options import JsonOptions


class JsonDecoder(Decoder):
    """The exact path: the standard library's parser, then a converter made once from the schema."""

    def __init__(self, schema: pa.Schema, options: JsonOptions, metadata_prefix: str, cuts: tuple[str, ...] = ()) -> None:
        """Compile the converters of ``schema``; ``cuts``: what of a JSON Schema lies too deep for columns."""
        self._cuts = cuts
        self._schema = schema
        self._options = options
        self._prefix = metadata_prefix
        self._columns = [column_of(field.type) for field in schema]
        self._convert = record(list(schema))
        found = {field.name: slices_of(field) for field in schema}
        self._slices = Slices(fields={name: s for name, s in found.items() if s}) or None

    @property
    def schema(self) -> pa.Schema:
        """The declared columns."""
        return self._schema

    @property
    def notices(self) -> tuple[str, ...]:
        """What of the schema lies too deep for columns."""
        return self._cuts

    def decode(self, payloads: pa.BinaryArray, headers: pa.ListArray | None) -> Decoded:  # noqa: ARG002 - JSON has no framing
        """Decode each payload by itself."""
        rows = RowCollector(self._schema, self._columns)
        depth, size, prefix = self._options.max_depth, self._options.max_bytes, self._prefix
        for row, payload in enumerate(payloads.to_pylist()):
            try:
                document = parse(payload, max_bytes=size, max_depth=depth, slices=self._slices)
                for name in document:
                    if name.startswith(prefix):
                        raise reserved(name, prefix)
                rows.add(row, self._convert(document))
            except BadValue as e:
                rows.reject(row, e)
        return rows.finish()


def reserved(name: str, prefix: str) -> BadValue:
    """The verdict on a payload field under the metadata prefix."""
    return BadValue(RESERVED, f"the name begins with '{prefix}', which is kept for metadata columns").inside(name)
