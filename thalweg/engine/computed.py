"""Which columns of a query are only handed through: leaving them out loses no expression, and so no error that it could end with."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import pyarrow.types as kinds

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    import pyarrow as pa
    from datafusion import Expr
    from datafusion.expr import TableScan
    from datafusion.plan import LogicalPlan

    SchemaOf = Callable[[LogicalPlan], pa.Schema]

_HANDS_ON: Final = re.compile(r"(Filter|SubqueryAlias|Sort|Limit|\w+ Join)\b")
"""Nodes whose columns are those of their inputs."""


def computed(plan: LogicalPlan, schema_of: SchemaOf, known: Mapping[str, Collection[str]]) -> frozenset[str]:
    """The columns of an optimised plan that are not the value of an input's column, of a field of one, or a literal.

    ``known`` names the columns of the relations that are views and computed there. Names without their qualifiers: a column that shares its name with
    a computed one counts as computed. So does whatever comes out of a node that is not understood here (aggregates, windows, recursion).
    """
    shown, inputs = plan.display(), plan.inputs()
    if shown.startswith("TableScan: "):
        scan: TableScan = plan.to_variant()
        return frozenset(known.get(scan.table_name(), ()) if scan.fqn()[1] is None else ())
    names = schema_of(plan).names
    below = [computed(one, schema_of, known) for one in inputs]
    if shown.startswith("Projection: "):
        given, hard = schema_of(inputs[0]), below[0]
        expressions = plan.to_variant().projections()
        return frozenset(name for name, one in zip(names, expressions, strict=True) if not _handed_on(one, given, hard))
    if _HANDS_ON.match(shown):
        return frozenset().union(*below)
    if shown.startswith("Unnest: "):
        return below[0] | (frozenset(names) - frozenset(schema_of(inputs[0]).names))
    if shown == "Union":
        branches = [(schema_of(one).names, hard) for one, hard in zip(inputs, below, strict=True)]
        return frozenset(name for at, name in enumerate(names) if any(theirs[at] in hard for theirs, hard in branches))
    return frozenset(names)


def _handed_on(one: Expr, given: pa.Schema, hard: Collection[str]) -> bool:
    """Whether an expression is a column that is not computed below, a field of one, or a literal, under any name."""
    kind = one.variant_name()
    if kind == "Alias":
        return _handed_on(one.to_variant().expr(), given, hard)
    if kind == "Column":
        return one.to_variant().name() not in hard
    if kind == "ScalarFunction" and one.rex_call_operator() == "get_field":
        base, *steps = one.rex_call_operands()
        plain = base.variant_name() == "Column" and all(step.variant_name() == "Literal" for step in steps)
        return plain and _handed_on(base, given, hard) and _is_struct(given, base.to_variant().name())
    return kind == "Literal"


def _is_struct(given: pa.Schema, name: str) -> bool:
    """Whether a column is a struct without maps, whose keys are looked up by comparing."""
    found = given.get_all_field_indices(name)
    return len(found) == 1 and bool(kinds.is_struct(given.field(found[0]).type)) and not _has_map(given.field(found[0]).type)


def _has_map(kind: pa.DataType) -> bool:
    """Whether a type is a map, or has one inside."""
    return bool(kinds.is_map(kind)) or any(_has_map(kind.field(i).type) for i in range(kind.num_fields))
