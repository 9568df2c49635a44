"""A JSON Schema to the columns that its documents fill; what it does not pin down stays JSON text."""

from __future__ import annotations

import json
from typing import Any, Final

import pyarrow as pa

from thalweg.arrow.columns import JSON_TEXT, UUID
from thalweg.arrow.rows import bounded

_MAX_COLUMNS: Final = 5_000
_MAX_DEPTH: Final = 24
_PLAIN: Final = {"integer": pa.int64(), "number": pa.float64(), "boolean": pa.bool_(), "null": pa.null()}
_FORMATS: Final = {"date-time": pa.timestamp("us", "UTC"), "date": pa.date32(), "time": pa.time64("us")}


class JsonSchemaError(Exception):
    """A text that is no JSON Schema of objects."""


def columns_of(text: str) -> pa.Schema:
    """The columns of a schema whose documents are objects. Raises JsonSchemaError."""
    try:
        root = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as e:
        raise JsonSchemaError(f"the schema is no JSON: {e}") from None
    reader = _Reader(root)
    found = reader.followed(root)
    properties = found.get("properties") if isinstance(found, dict) else None
    if not isinstance(properties, dict):
        raise JsonSchemaError("the root of the schema has no 'properties': a record is one JSON object")
    return pa.schema([reader.field(name, spec, 1) for name, spec in properties.items()])


class _Reader:
    """Follows references and unfolds types."""

    def __init__(self, root: Any) -> None:  # noqa: ANN401 - any JSON
        """References point into ``root``."""
        self._root = root
        self._columns = 0

    def field(self, name: str, spec: Any, depth: int) -> pa.Field:  # noqa: ANN401 - any JSON
        """The nullable field of a subschema."""
        self._columns += 1
        if self._columns > _MAX_COLUMNS:
            raise JsonSchemaError(f"the schema unfolds to more than {_MAX_COLUMNS} columns")
        spec = self._narrowed(self.followed(spec))
        kind = self._kind(spec)
        if kind == "string":
            return self._text(name, spec)
        if kind in _PLAIN:
            return pa.field(name, _PLAIN[kind])
        if kind == "array" and isinstance(spec.get("items"), dict) and depth < _MAX_DEPTH:
            return pa.field(name, pa.list_(self.field("item", spec["items"], depth + 1)))
        if kind == "object" and depth < _MAX_DEPTH:
            properties, more = spec.get("properties"), spec.get("additionalProperties")
            if isinstance(properties, dict) and properties:
                return pa.field(name, pa.struct([self.field(n, s, depth + 1) for n, s in properties.items()]))
            if not properties and isinstance(more, dict) and more:
                return pa.field(name, pa.map_(pa.string(), self.field("value", more, depth + 1)))
        return pa.field(name, pa.string(), metadata=JSON_TEXT)

    def followed(self, spec: Any) -> Any:  # noqa: ANN401 - any JSON
        """What a chain of ``$ref`` inside the document leads to."""
        for _ in range(_MAX_DEPTH):
            if not isinstance(spec, dict) or "$ref" not in spec:
                return spec
            spec = self._at(spec["$ref"])
        raise JsonSchemaError("'$ref' leads in a circle")

    def _at(self, pointer: object) -> Any:  # noqa: ANN401 - any JSON
        """A place in the document by ``#/...``."""
        if not isinstance(pointer, str) or not pointer.startswith("#"):
            raise JsonSchemaError(f"'$ref' {bounded(str(pointer))} is not inside the document (#/...)")
        found = self._root
        for step in pointer.removeprefix("#").split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            if not isinstance(found, dict) or key not in found:
                raise JsonSchemaError(f"'$ref' {bounded(pointer)} leads nowhere")
            found = found[key]
        return found

    def _narrowed(self, spec: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON
        """Of ``oneOf``, ``anyOf`` and ``allOf`` with one choice besides null, that choice."""
        spec = dict(spec) if isinstance(spec, dict) else {}
        for word in ("oneOf", "anyOf", "allOf"):
            choices = [c for c in map(self.followed, spec.get(word) or ()) if isinstance(c, dict) and c.get("type") != "null"]
            if len(choices) == 1 and "type" not in spec:
                return dict(choices[0])
        return dict(spec)

    def _kind(self, spec: dict[str, Any]) -> str:
        """The one type besides null; empty where there are several or none."""
        named = spec.get("type")
        kinds = [named] if isinstance(named, str) else list(named or ())
        if not kinds and isinstance(spec.get("enum"), list):
            kinds = ["string"] if all(isinstance(v, str) for v in spec["enum"] if v is not None) else []
        if not kinds and isinstance(spec.get("properties"), dict):
            kinds = ["object"]
        other = [k for k in kinds if k != "null"]
        return str(other[0]) if len(other) == 1 else ("null" if kinds == ["null"] else "")

    def _text(self, name: str, spec: dict[str, Any]) -> pa.Field:
        """Text, by its format."""
        if spec.get("format") == "uuid":
            return pa.field(name, pa.binary(16), metadata=UUID)
        if spec.get("contentEncoding") == "base64":
            return pa.field(name, pa.binary())
        return pa.field(name, _FORMATS.get(str(spec.get("format")), pa.string()))
