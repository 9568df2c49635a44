"""Avro schema text to a graph of nodes: names resolved, logical types understood or ignored as the specification says."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from thalweg.arrow.rows import bounded

if TYPE_CHECKING:
    from thalweg.ports.schemas import RegisteredSchema

PRIMITIVE_KINDS: Final = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
NO_DEFAULT: Final = object()
_MAX_NESTING: Final = 200
_UNITS: Final = {"millis": "ms", "micros": "us", "nanos": "ns"}


class SchemaError(Exception):
    """A schema that is no Avro schema, or that no finite datum fits."""


class _DefinedTwiceError(SchemaError):
    """A name that has a type already."""

    def __init__(self, name: str) -> None:
        """``name`` is the type's, in full."""
        super().__init__(f"type '{bounded(name)}' is defined twice")
        self.name = name


@dataclass(frozen=True, slots=True)
class Logical:
    """What a value means beyond its encoding."""

    kind: str
    """``decimal``, ``uuid``, ``date``, ``time``, ``timestamp`` or ``duration``."""
    precision: int = 0
    scale: int = 0
    unit: str = ""
    zoned: bool = False


@dataclass(slots=True, eq=False)
class Field:
    """A field of a record."""

    name: str
    node: Node
    aliases: tuple[str, ...] = ()
    default: Any = NO_DEFAULT


@dataclass(slots=True, eq=False)
class Node:
    """A type. Named types are one object each, so a recursive schema is a cycle of nodes."""

    kind: str
    name: str = ""
    """Full name of a record, enum or fixed."""
    aliases: tuple[str, ...] = ()
    fields: list[Field] = field(default_factory=list)
    symbols: tuple[str, ...] = ()
    default: str | None = None
    items: Node | None = None
    """Of an array; of a map its values."""
    branches: tuple[Node, ...] = ()
    size: int = 0
    logical: Logical | None = None

    @property
    def item(self) -> Node:
        """The items of an array, the values of a map."""
        assert self.items is not None
        return self.items

    @property
    def label(self) -> str:
        """What it is called in messages and as a branch of a union."""
        return self.name or self.kind


def parse(text: str) -> Node:
    """The root of a schema. Raises SchemaError."""
    return _parse_text(text, {})


def parse_registered(schema: RegisteredSchema) -> Node:
    """The root of a registered schema, after everything that it refers to; a type that is shared is defined once."""
    return _References().parse(schema)


def min_size(node: Node, known: dict[int, int] | None = None) -> int:
    """The fewest bytes that a datum takes (or fewer, inside a type that holds itself)."""
    known = {} if known is None else known
    if node.kind == "record":
        if id(node) not in known:
            known[id(node)] = 0
            known[id(node)] = sum(min_size(f.node, known) for f in node.fields)
        return known[id(node)]
    if node.kind == "union":
        return 1 + min(min_size(b, known) for b in node.branches)
    if node.kind == "fixed":
        return node.size
    return {"null": 0, "float": 4, "double": 8}.get(node.kind, 1)


class _References:
    """Parses a schema after what it refers to, bottom first; one name may stand for one text only, and one text may have several names."""

    def __init__(self) -> None:
        """Nothing read yet."""
        self._names: dict[str, Node] = {}
        self._homes: dict[str, int | str] = {}
        """The schema that defines each type."""
        self._seen: dict[str, RegisteredSchema] = {}
        self._texts: set[str] = set()

    def parse(self, schema: RegisteredSchema) -> Node:
        """The root of a schema."""
        self._refer(schema)
        try:
            root = _parse_text(schema.text, self._names)
        except _DefinedTwiceError as e:
            home = self._homes.get(e.name)
            if home is None:
                raise
            raise SchemaError(f"type '{bounded(e.name)}' is defined by schema {home} and again by schema {schema.id}") from None
        for name in self._names:
            self._homes.setdefault(name, schema.id)
        return root

    def _refer(self, schema: RegisteredSchema) -> None:
        """Parse the references of a schema that have not been met."""
        for name, found in schema.references:
            known = self._seen.setdefault(name, found)
            if known.text != found.text:
                raise SchemaError(f"reference '{bounded(name)}' means schema {known.id} in one place and schema {found.id} in another")
            if found.text not in self._texts:
                self._texts.add(found.text)
                self.parse(found)


def _parse_text(text: str, names: dict[str, Node]) -> Node:
    """One schema text; the named types that it defines are added to ``names``."""
    try:
        spec = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as e:
        bare = text.strip()
        if bare not in PRIMITIVE_KINDS:
            raise SchemaError(f"the schema is no JSON: {e}") from None
        spec = bare
    root = _Parser(names).type(spec, "", 0)
    _refuse_infinite(names)
    return root


def _refuse_infinite(names: dict[str, Node]) -> None:
    """Refuse a record that holds itself without an array, a map or a way out of a union."""
    finite: set[int] = set()

    def ends(node: Node) -> bool:
        if node.kind == "union":
            return any(ends(b) for b in node.branches)
        return node.kind != "record" or id(node) in finite

    records = [n for n in names.values() if n.kind == "record"]
    while True:
        found = [n for n in records if id(n) not in finite and all(ends(f.node) for f in n.fields)]
        if not found:
            break
        finite.update(id(n) for n in found)
    for node in records:
        if id(node) not in finite:
            through = next(f.name for f in node.fields if not ends(f.node))
            raise SchemaError(f"record '{node.name}' contains itself without end through field '{through}'")


class _Parser:
    """Reads the JSON of a schema."""

    def __init__(self, names: dict[str, Node]) -> None:
        self._names = names

    def type(self, spec: Any, namespace: str, depth: int) -> Node:  # noqa: ANN401 - any JSON
        """A type: a name, a union or an object."""
        if depth > _MAX_NESTING:
            raise SchemaError(f"the schema nests deeper than {_MAX_NESTING} levels")
        if isinstance(spec, str):
            return Node(spec) if spec in PRIMITIVE_KINDS else self._named(spec, namespace)
        if isinstance(spec, list):
            return self._union(spec, namespace, depth)
        if not isinstance(spec, dict) or "type" not in spec:
            raise SchemaError(f"expected a type, found {bounded(json.dumps(spec))}")
        kind = spec["type"]
        return self._object(kind, spec, namespace, depth) if isinstance(kind, str) else self.type(kind, namespace, depth + 1)

    def _object(self, kind: str, spec: dict[str, Any], namespace: str, depth: int) -> Node:
        """A type written as an object with a named ``type``."""
        if kind in {"record", "error", "enum", "fixed"}:
            return self._define("record" if kind == "error" else kind, spec, namespace, depth)
        if kind in {"array", "map"}:
            inner = "items" if kind == "array" else "values"
            if inner not in spec:
                raise SchemaError(f"type '{kind}' needs '{inner}'")
            return Node(kind, items=self.type(spec[inner], namespace, depth + 1))
        if kind in PRIMITIVE_KINDS:
            return Node(kind, logical=_logical(kind, 0, spec))
        return self._named(kind, namespace)

    def _named(self, name: str, namespace: str) -> Node:
        """A type defined before."""
        for full in (_full(name, namespace), name):
            if full in self._names:
                return self._names[full]
        raise SchemaError(f"unknown type '{bounded(name)}'")

    def _union(self, specs: list[Any], namespace: str, depth: int) -> Node:
        """A union: no union inside, each unnamed kind once."""
        branches = tuple(self.type(s, namespace, depth + 1) for s in specs)
        labels = [b.label for b in branches]
        if not branches or any(b.kind == "union" for b in branches) or len(set(labels)) < len(labels):
            raise SchemaError(f"no valid union: [{bounded(', '.join(labels))}]")
        return Node("union", branches=branches)

    def _define(self, kind: str, spec: dict[str, Any], namespace: str, depth: int) -> Node:
        """A record, enum or fixed, known by its name from here on."""
        name = _full(_text(spec, "name", kind), spec.get("namespace", namespace))
        if name in self._names:
            raise _DefinedTwiceError(name)
        inside = name.rpartition(".")[0]
        node = Node(kind, name, tuple(_full(a, inside) for a in _texts(spec.get("aliases", []), f"aliases of '{name}'")))
        self._names[name] = node
        if kind == "record":
            specs = spec.get("fields")
            if not isinstance(specs, list):
                raise SchemaError(f"record '{bounded(name)}' needs 'fields'")
            node.fields = [self._field(f, node, depth) for f in specs]
            if len({f.name for f in node.fields}) < len(node.fields):
                raise SchemaError(f"record '{bounded(name)}' has two fields of one name")
        elif kind == "enum":
            node.symbols = _texts(spec.get("symbols"), f"symbols of '{name}'")
            node.default = spec.get("default")
            if len(set(node.symbols)) < len(node.symbols) or (node.default is not None and node.default not in node.symbols):
                raise SchemaError(f"enum '{bounded(name)}': symbols are repeated or do not hold the default")
        else:
            node.size = _size(spec.get("size"), name)
            node.logical = _logical(kind, node.size, spec)
        return node

    def _field(self, spec: Any, record: Node, depth: int) -> Field:  # noqa: ANN401 - any JSON
        """A field of a record."""
        if not isinstance(spec, dict):
            raise SchemaError(f"record '{bounded(record.name)}': expected a field, found {bounded(json.dumps(spec))}")
        name = _text(spec, "name", f"field of record '{bounded(record.name)}'")
        if "type" not in spec:
            raise SchemaError(f"field '{bounded(name)}' of record '{bounded(record.name)}' needs 'type'")
        node = self.type(spec["type"], record.name.rpartition(".")[0], depth + 1)
        return Field(name, node, _texts(spec.get("aliases", []), f"aliases of '{name}'"), spec.get("default", NO_DEFAULT))


def _full(name: str, namespace: object) -> str:
    """A name with its namespace."""
    return f"{namespace}.{name}" if "." not in name and isinstance(namespace, str) and namespace else name.removeprefix(".")


def _text(spec: dict[str, Any], key: str, what: str) -> str:
    """A member that must be text."""
    found = spec.get(key)
    if not isinstance(found, str) or not found:
        raise SchemaError(f"{what} needs '{key}'")
    return found


def _texts(found: Any, what: str) -> tuple[str, ...]:  # noqa: ANN401 - any JSON
    """A list of texts."""
    if not isinstance(found, list) or not all(isinstance(f, str) for f in found):
        raise SchemaError(f"{bounded(what)}: expected a list of names")
    return tuple(found)


def _size(found: Any, name: str) -> int:  # noqa: ANN401 - any JSON
    """The size of a fixed."""
    if not _is_count(found):
        raise SchemaError(f"fixed '{bounded(name)}' needs a 'size' of 0 or more")
    return int(found)


def _is_count(found: object) -> bool:
    """Whether it is a whole number of 0 or more."""
    return isinstance(found, int) and not isinstance(found, bool) and found >= 0


def _logical(kind: str, size: int, spec: dict[str, Any]) -> Logical | None:
    """The logical type; None where it is unknown or does not fit, and the value stays what it is underneath."""
    name = spec.get("logicalType")
    if name == "decimal":
        return _decimal(kind, size, spec)
    if (name, kind, size) in {("uuid", "string", 0), ("uuid", "fixed", 16), ("duration", "fixed", 12), ("date", "int", 0)}:
        return Logical(str(name))
    if not isinstance(name, str):
        return None
    if (name, kind) in {("time-millis", "int"), ("time-micros", "long")}:
        return Logical("time", unit=_UNITS[name.removeprefix("time-")])
    stem, _, unit = name.rpartition("-")
    if kind == "long" and stem in {"timestamp", "local-timestamp"} and unit in _UNITS:
        return Logical("timestamp", unit=_UNITS[unit], zoned=stem == "timestamp")
    return None


def _decimal(kind: str, size: int, spec: dict[str, Any]) -> Logical | None:
    """A decimal with a precision that its bytes can hold."""
    precision, scale = spec.get("precision"), spec.get("scale", 0)
    if kind not in {"bytes", "fixed"} or precision is None or not (_is_count(precision) and _is_count(scale)) or max(scale, 1) > precision:
        return None
    if kind == "fixed" and (size == 0 or precision > len(str((1 << 8 * size - 1) - 1)) - 1):
        return None
    return Logical("decimal", precision=precision, scale=scale)
