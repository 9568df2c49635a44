"""Casts of unions in a plan: the engine gives NULL for every value of another branch, without a word."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.types as kinds
from datafusion.expr import Expr

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from datafusion.plan import LogicalPlan

Inputs = list["LogicalPlan"]
_LITERAL: Final = re.compile(r'Utf8(?:View)?\("(?:(?!"\)).)*CAST\((?:(?!"\)).)*"\)', re.DOTALL)
"""A text that speaks of a cast."""
_CASTS: Final = frozenset({"Cast", "TryCast"})
_WHOLE: Final = frozenset({"Column", "Literal", "Outer", "Placeholder", "ScalarVariable"})
"""Expressions with nothing inside."""
_UNNESTED: Final = re.compile(r"__unnest_placeholder\((?:[^.()]+\.)?(.+),depth=\d+\)")
_MADE_UP: Final = "__"
"""How names begin that the optimiser gives to parts of expressions."""
_CASTING: Final = frozenset({"array_to_string"})
"""Functions that cast the items of their first argument."""


@dataclass(frozen=True, slots=True)
class UnionCast:
    """One place."""

    column: str
    """The column that it begins with; for what is no column the engine's own words."""
    shown: str
    """What is cast, in SQL: ``u``, ``s['v']``, ``l[1]``."""
    is_union: bool
    """Whether that is a union, not a list, map or struct of them."""


def has_union(kind: pa.DataType) -> bool:
    """Whether a type is a union, or has one inside."""
    return bool(kinds.is_union(kind)) or any(has_union(kind.field(i).type) for i in range(kind.num_fields))


def union_casts(plan: LogicalPlan, frame: Callable[[LogicalPlan], Any]) -> list[UnionCast]:
    """What an optimised plan casts that is a union or holds one, by the query or by a comparison with another type.

    ``frame`` makes a DataFrame of a plan. Subqueries must be joins by now. In FILTER and ORDER BY of an aggregate only casts of columns are seen.
    """
    found = chain.from_iterable(chain(_typed(node, inputs, frame), _written(node, inputs, frame)) for node, inputs in _nodes(plan))
    return list(dict.fromkeys(found))


def _nodes(plan: LogicalPlan) -> Iterator[tuple[LogicalPlan, Inputs]]:
    """Every node with what it reads."""
    inputs = plan.inputs()
    yield plan, inputs
    for below in inputs:
        yield from _nodes(below)


def _typed(node: LogicalPlan, inputs: Inputs, frame: Callable[[LogicalPlan], Any]) -> Iterator[UnionCast]:
    """The casts among a node's expressions whose operands hold unions, by the types that the engine gives them."""
    line = node.display()
    is_worth_it = "CAST(" in line or any(name in line for name in _CASTING)
    for cast in chain.from_iterable(map(_casts, _expressions(node) if is_worth_it else ())):
        operand = cast.rex_call_operands()[0]
        kind = _type(operand, inputs, frame)
        if kind is not None and has_union(kind):
            column, shown = _named(operand, inputs)
            yield UnionCast(column, shown, bool(kinds.is_union(kind)))


def _expressions(node: LogicalPlan) -> Iterator[Any]:
    """The expressions of a node, as far as the engine's interface shows them."""
    try:
        variant: Any = node.to_variant()
    except Exception:  # noqa: BLE001 - the interface does not open every kind of node either
        return
    for name in ("projections", "aggregate_exprs", "group_by_exprs"):
        if hasattr(variant, name):
            yield from getattr(variant, name)()
    if hasattr(variant, "predicate"):
        yield variant.predicate()
    if hasattr(variant, "sort_exprs"):
        yield from (s.expr() for s in variant.sort_exprs())
    if hasattr(variant, "on"):
        yield from chain.from_iterable(variant.on())
        yield from [variant.filter()] if variant.filter() is not None else []
    for window in variant.get_window_expr() if hasattr(variant, "get_window_expr") else ():
        yield from variant.get_partition_exprs(window)
        yield from (s.expr() for s in variant.get_sort_exprs(window))
        yield from variant.get_args(window)


def _casts(expression: Any) -> Iterator[Any]:  # noqa: ANN401 - the engine has no name for it
    """The casts in an expression."""
    kind = expression.variant_name()
    if kind in _CASTS or (kind == "ScalarFunction" and expression.rex_call_operator() in _CASTING):
        yield expression
    try:
        inside = () if kind in _WHOLE else expression.rex_call_operands()
    except Exception:  # noqa: BLE001 - the interface does not open every kind of expression; their text is looked at
        return
    for inner in inside:
        yield from _casts(inner)


def _type(operand: Any, inputs: Inputs, frame: Callable[[LogicalPlan], Any]) -> pa.DataType | None:  # noqa: ANN401 - as above
    """The type of an expression over what a node reads; None where it is over no single input, and so no column of it."""
    for below in inputs:
        try:
            return frame(below).select(Expr(operand)).schema().field(0).type
        except Exception:  # noqa: BLE001, S112 - the engine's own errors: a side of a join does not have the column
            continue
    return None


def _named(operand: Any, inputs: Inputs) -> tuple[str, str]:  # noqa: ANN401 - as above
    """The column that an expression begins with, and the expression in SQL."""
    kind = operand.variant_name()
    if kind == "Alias":
        return _named(operand.rex_call_operands()[0], inputs)
    if kind == "Column":
        name = operand.to_variant().name()
        made = _definition(name, inputs) if name.startswith(_MADE_UP) else None
        if made is not None:
            return _named(*made)
        unnested = _UNNESTED.fullmatch(name)
        return (name, name) if unnested is None else (unnested[1], f"unnest({unnested[1]})")
    if kind == "ScalarFunction" and operand.rex_call_operator() in {"array_element", "get_field"}:
        first, *steps = operand.rex_call_operands()
        if all(step.variant_name() == "Literal" for step in steps):
            column, shown = _named(first, inputs)
            return column, shown + "".join(f"[{step.python_value().as_py()!r}]" for step in steps)
    return operand.schema_name(), operand.schema_name()


def _definition(name: str, inputs: Inputs) -> tuple[Any, Inputs] | None:
    """What the optimiser has given a name, and what that is over; None for a name of another kind."""
    for below in inputs:
        for made in _expressions(below):
            if made.variant_name() == "Alias" and made.to_variant().alias() == name:
                return made.rex_call_operands()[0], below.inputs()
        deeper = _definition(name, below.inputs())
        if deeper is not None:
            return deeper
    return None


def _written(node: LogicalPlan, inputs: Inputs, frame: Callable[[LogicalPlan], Any]) -> Iterator[UnionCast]:
    """Columns that a node's text casts: FILTER and ORDER BY of an aggregate, and what else the interface does not open."""
    line = _LITERAL.sub("", node.display())
    for below in inputs if "CAST(" in line else ():
        for field in frame(below).schema():
            made_up = field.name.startswith(_MADE_UP)
            if not made_up and has_union(field.type) and re.search(rf"\b(?:TRY_)?CAST\((?:[^()]+\.)?{re.escape(field.name)} AS ", line):
                yield UnionCast(field.name, field.name, bool(kinds.is_union(field.type)))
