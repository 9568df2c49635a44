"""Casts of union columns in a plan: the engine gives NULL for every value of another branch, without a word."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.types as kinds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from datafusion.plan import LogicalPlan

_LITERAL: Final = re.compile(r'Utf8(?:View)?\("(?:(?!"\)).)*CAST\((?:(?!"\)).)*"\)', re.DOTALL)
"""A text that speaks of a cast."""


def has_union(kind: pa.DataType) -> bool:
    """Whether a type is a union, or has one inside."""
    return bool(kinds.is_union(kind)) or any(has_union(kind.field(i).type) for i in range(kind.num_fields))


def union_casts(plan: LogicalPlan, schema_of: Callable[[LogicalPlan], pa.Schema]) -> list[str]:
    """The columns of an optimised plan that are unions and are cast, by the query or by a comparison with another type.

    Sees unions that are columns, or fields of columns that are structs. Not those in lists and maps, nor casts in a subquery that stays one.
    """
    out: list[str] = []
    for node, inputs in _nodes(plan):
        line = _LITERAL.sub("", node.display())
        for below in inputs if "CAST(" in line else ():
            found = [union for field in schema_of(below) for union in _unions(field, field.name)]
            out += [name for name, shown in found if re.search(rf"\b(?:TRY_)?CAST\({shown} AS ", line)]
    return list(dict.fromkeys(out))


def _nodes(plan: LogicalPlan) -> Iterator[tuple[LogicalPlan, list[LogicalPlan]]]:
    """Every node with what it reads."""
    inputs = plan.inputs()
    yield plan, inputs
    for below in inputs:
        yield from _nodes(below)


def _unions(field: pa.Field, name: str) -> Iterator[tuple[str, str]]:
    """Each union that a column is or has as a field: its name, and how the engine writes it (a pattern)."""
    column = rf"(?:[^()]+\.)?{re.escape(field.name)}"
    if kinds.is_union(field.type):
        yield name, column
    for path in _paths(field.type):
        steps = "".join(rf', Utf8(?:View)?\("{re.escape(step)}"\)' for step in path)
        yield ".".join([name, *path]), rf"get_field\({column}{steps}\)"


def _paths(kind: pa.DataType) -> Iterator[tuple[str, ...]]:
    """Where a struct has unions."""
    for child in kind if kinds.is_struct(kind) else ():
        if kinds.is_union(child.type):
            yield (child.name,)
        yield from ((child.name, *path) for path in _paths(child.type))
