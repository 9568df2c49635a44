"""Options of ``'format' 'json'``."""

from __future__ import annotations

from dataclasses import dataclass

from thalweg.model.options import at_least, option, size


@dataclass(frozen=True, slots=True)
class JsonOptions:
    """Where the columns come from without a column list, and how much one document may ask for."""

    schema: str | None = option("json.schema", default=None, doc="a JSON Schema as text that gives the columns where none are declared")
    schema_file: str | None = option("json.schema-file", default=None, doc="a JSON Schema in a file, relative to the pipeline file")
    max_depth: int = option(
        "decode.max_depth", at_least(1), default=64, doc="levels of objects and arrays in one document; a deeper one is a bad record"
    )
    max_bytes: int = option(
        "decode.max_bytes", at_least(1, size), default=8 << 20, doc="size of one document; a larger one is a bad record"
    )
