"""Which writer's type a reader's type can read: names, aliases, promotions, and what logical types allow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from thalweg.codecs.avro.schema import Logical, Node

PROMOTIONS: Final = {
    "int": frozenset({"long", "float", "double"}),
    "long": frozenset({"float", "double"}),
    "float": frozenset({"double"}),
    "string": frozenset({"bytes"}),
    "bytes": frozenset({"string"}),
}
_NAMED: Final = frozenset({"record", "enum", "fixed"})
_PLACES: Final = {"ms": 3, "us": 6, "ns": 9}


class Incompatible(Exception):
    """A writer's type that the reader's type cannot read, or a wire type that the declared column cannot hold."""

    def __init__(self, message: str) -> None:
        """Start with an empty path."""
        super().__init__(message)
        self.message = message
        self.path: list[str] = []

    def inside(self, step: str) -> Incompatible:
        """Note the field that it lies in."""
        self.path.insert(0, step)
        return self

    @property
    def where(self) -> str:
        """The dotted path of the field."""
        return ".".join(self.path)


def same_name(writer: Node, reader: Node) -> bool:
    """Whether two named types go together: by name without namespace, or by an alias of the reader."""
    return writer.name.rpartition(".")[2] == reader.name.rpartition(".")[2] or writer.name in reader.aliases


def readable(writer: Node, reader: Node) -> bool:
    """Whether the types go together at this level; what lies inside is checked when it is reached."""
    if writer.kind != reader.kind:
        return reader.kind in PROMOTIONS.get(writer.kind, ())
    if writer.kind == "fixed" and writer.size != reader.size:
        return False
    return writer.kind not in _NAMED or same_name(writer, reader)


def best_branch(writer: Node, union: Node) -> int | None:
    """The reader's branch for a writer's type: the very type, then one of its name, then the first by promotion."""
    exact = [i for i, b in enumerate(union.branches) if b.kind == writer.kind and b.name == writer.name and readable(writer, b)]
    named = [i for i, b in enumerate(union.branches) if b.kind == writer.kind and readable(writer, b)]
    promoted = [i for i, b in enumerate(union.branches) if readable(writer, b)]
    return next(iter([*exact, *named, *promoted]), None)


def finer(writer: Logical | None, reader: Logical | None) -> int:
    """Decimal places that a value gains from the writer's logical type to the reader's. Raises Incompatible where the meaning changes.

    Where one side has no logical type the bytes are taken as the other side says.
    """
    if writer is None or reader is None or writer == reader:
        return 0
    same = writer.kind == reader.kind and writer.zoned == reader.zoned and writer.scale == reader.scale
    gain = _PLACES.get(reader.unit, 0) - _PLACES.get(writer.unit, 0)
    if not same or gain < 0 or reader.precision < writer.precision:
        raise Incompatible(f"written as {described(writer)}, read as {described(reader)}")
    return gain


def described(logical: Logical) -> str:
    """A logical type as the specification names it."""
    if logical.kind == "decimal":
        return f"decimal({logical.precision}, {logical.scale})"
    if not logical.unit:
        return logical.kind
    unit = {"ms": "millis", "us": "micros", "ns": "nanos"}[logical.unit]
    return f"{'local-' if logical.kind == 'timestamp' and not logical.zoned else ''}{logical.kind}-{unit}"
