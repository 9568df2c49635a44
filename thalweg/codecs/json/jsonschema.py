"""A JSON Schema to the columns that its documents fill; what it does not pin down stays JSON text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from thalweg.arrow.columns import JSON_TEXT
from thalweg.codecs.json.documents import Documents, JsonSchemaError, Spec
from thalweg.codecs.json.scalars import scalar
from thalweg.ports.depth import DEFAULT_DEPTH, MAX_COLUMNS, deepest
from thalweg.ports.schemas import RegisteredSchema

if TYPE_CHECKING:
    from collections.abc import Iterable

_SHOWN: Final = 5
_CONTAINERS: Final = ("items", "prefixItems", "additionalProperties", "patternProperties", "oneOf", "anyOf")
"""Words whose values hold subschemas, with references that start from their own document."""


@dataclass(frozen=True, slots=True)
class Columns:
    """What a JSON Schema gives."""

    schema: pa.Schema
    cuts: tuple[str, ...] = ()
    """What lies too deep and becomes JSON text, one line."""


def columns_of(text: str) -> pa.Schema:
    """The columns of a schema whose documents are objects. Raises JsonSchemaError."""
    return unfolded(RegisteredSchema("", "JSON", text), DEFAULT_DEPTH).schema


def unfolded(registered: RegisteredSchema, max_depth: int) -> Columns:
    """The columns of a registered schema, with its references; at most ``max_depth`` levels, and the default. Raises JsonSchemaError."""
    documents = Documents(registered)
    fields, reader = deepest(lambda levels: _read(documents, levels), max_depth if max_depth < DEFAULT_DEPTH else None, _TooLargeError)
    if not reader.cuts:
        return Columns(pa.schema(fields))
    listed = ", ".join(f"'{w}'" for w in reader.cuts[:_SHOWN]) + (f" and {len(reader.cuts) - _SHOWN:,} more" if len(reader.cuts) > _SHOWN else "")
    return Columns(pa.schema(fields), (f"{listed}: deeper than {reader.levels} levels, kept as JSON text",))


class _TooLargeError(JsonSchemaError):
    """More columns than are kept, because of a type inside itself: fewer levels are fewer columns."""


def _read(documents: Documents, levels: int) -> tuple[list[pa.Field], _Reader]:
    """The columns of so many levels, and what was cut on the way. Raises JsonSchemaError."""
    reader = _Reader(documents, levels)
    return reader.root(), reader


class _Reader:
    """Unfolds subschemas to fields."""

    def __init__(self, documents: Documents, levels: int) -> None:
        """``levels`` become columns."""
        self._documents, self.levels = documents, levels
        self.cuts: list[str] = []
        self._columns = 0
        self._around: list[int] = []

    def root(self) -> list[pa.Field]:
        """The columns of the outermost object."""
        found = self._narrowed(self._documents.root)
        properties = found.value.get("properties")
        if not isinstance(properties, dict) or self._kind(found.value) not in {"object", ""}:
            raise JsonSchemaError("the root of the schema has no 'properties': a record is one JSON object")
        return [self._field(name, spec, 1, name) for name, spec in self._members(found)]

    def _field(self, name: str, given: Spec, depth: int, path: str) -> pa.Field:
        """The nullable field of a subschema."""
        self._columns += 1
        if self._columns > MAX_COLUMNS:
            is_deep = bool(self.cuts) or len(set(self._around)) < len(self._around)
            raise (_TooLargeError if is_deep else JsonSchemaError)(f"the schema unfolds to more than {MAX_COLUMNS} columns, at '{path[:200]}'")
        spec = self._narrowed(given)
        kind = self._kind(spec.value)
        if kind in {"array", "object"}:
            self._around.append(id(spec.value))
            nested = self._nested(name, kind, spec, depth, path)
            self._around.pop()
            return pa.field(name, pa.string(), metadata=JSON_TEXT) if nested is None else nested
        found = scalar(kind, spec.value)
        return pa.field(name, pa.string(), metadata=JSON_TEXT) if found is None else found.with_name(name)

    def _nested(self, name: str, kind: str, spec: Spec, depth: int, path: str) -> pa.Field | None:
        """An array or object; None where its values can be anything, or where it lies too deep."""
        made: pa.Field | None = None
        below = depth + 1
        if kind == "array":
            items = spec.value.get("items")
            if not isinstance(items, dict) or "prefixItems" in spec.value:
                return None
            if depth < self.levels:
                return pa.field(name, pa.list_(self._field("item", Spec(items, spec.base), below, f"{path}.item")))
        else:
            members, more = self._members(spec), self._more(spec.value)
            if not members and more is None:
                return None
            if depth < self.levels:
                if members:
                    made = pa.field(name, pa.struct([self._field(n, s, below, f"{path}.{n}") for n, s in members]))
                else:
                    made = pa.field(name, pa.map_(pa.string(), self._field("value", Spec(more, spec.base), below, f"{path}.value")))
                return made
        self.cuts.append(path if len(path) <= 200 else f"{path[:80]}...{path[-80:]}")  # noqa: PLR2004 - a line is long enough
        return None

    @staticmethod
    def _members(spec: Spec) -> list[tuple[str, Spec]]:
        """The named members of an object."""
        found = spec.value.get("properties")
        return [(str(n), v if isinstance(v, Spec) else Spec(v, spec.base)) for n, v in found.items()] if isinstance(found, dict) else []

    @staticmethod
    def _more(value: dict[str, Any]) -> Any:  # noqa: ANN401 - any JSON
        """What the members of a map are; None where the schema says nothing about them, or several things."""
        patterns = value.get("patternProperties")
        choices = list(patterns.values()) if isinstance(patterns, dict) else []
        additional = value.get("additionalProperties")
        if additional not in (None, False):
            choices.append(additional)
        return choices[0] if len(choices) == 1 and isinstance(choices[0], dict) and choices[0] else None

    def _narrowed(self, given: Spec) -> Spec:
        """Of ``oneOf`` and ``anyOf`` with one choice besides null, that choice; of ``allOf``, all of it together."""
        spec = self._documents.followed(given)
        for _ in range(DEFAULT_DEPTH):
            if not isinstance(spec.value, dict):
                return Spec({}, spec.base)
            chosen = self._chosen(spec)
            if chosen is None:
                return self._joined(spec)
            spec = chosen
        return Spec({}, spec.base)

    def _chosen(self, spec: Spec) -> Spec | None:
        """The only choice besides null."""
        for word in ("oneOf", "anyOf"):
            listed = spec.value.get(word)
            if not isinstance(listed, list) or "properties" in spec.value:
                continue
            choices = [c for c in (self._documents.followed(Spec(v, spec.base)) for v in listed) if not _is_null(c.value)]
            if len(choices) == 1:
                return choices[0]
            return None if "type" in spec.value else Spec({}, spec.base)
        return None

    def _joined(self, spec: Spec) -> Spec:
        """A subschema with what its ``allOf`` adds: members side by side, of other words the first one that is said."""
        parts = spec.value.get("allOf")
        if not isinstance(parts, list) or not parts:
            return spec
        together = {word: v for word, v in spec.value.items() if word != "allOf"}
        members: dict[str, Any] = dict(self._members(spec))
        for part in (self._documents.followed(Spec(p, spec.base)) for p in parts):
            if not isinstance(part.value, dict) or part.value is spec.value:
                continue
            for name, value in self._members(part):
                members[name] = value if members.get(name, value) == value else Spec({}, part.base)
            left_out = {"properties", "allOf"} if part.base == spec.base else {"properties", "allOf", *_CONTAINERS}
            together = {**{w: v for w, v in part.value.items() if w not in left_out}, **together}
        return Spec({**together, "properties": members} if members else together, spec.base)

    def _kind(self, spec: dict[str, Any]) -> str:
        """The one type besides null; empty where there are several or none."""
        named = spec.get("type")
        kinds = [named] if isinstance(named, str) else [k for k in named if isinstance(k, str)] if isinstance(named, list) else []
        if not kinds:
            kinds = _kinds_of(spec.get("enum", [spec["const"]] if "const" in spec else ()))
        if not kinds and isinstance(spec.get("properties"), dict):
            kinds = ["object"]
        other = sorted({k for k in kinds if k != "null"})
        if other == ["integer", "number"]:
            return "number"
        return other[0] if len(other) == 1 else ("null" if kinds and not other else "")


def _is_null(value: object) -> bool:
    """Whether a subschema is only null."""
    return isinstance(value, dict) and (value.get("type") in ("null", ["null"]) or ("const" in value and value["const"] is None))


def _kinds_of(values: Iterable[Any]) -> list[str]:
    """The types of listed values."""
    names = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null", dict: "object", list: "array"}
    return [names[type(v)] for v in values] if isinstance(values, list) else []
