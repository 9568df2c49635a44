"""What each table name of a query stands for: a CTE of the query, or a relation that it depends on."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from thalweg.dialect.names import qualified
from thalweg.dialect.places import name_of


@dataclass(frozen=True, slots=True)
class Reference:
    """One table name: a CTE, or a relation from outside."""

    node: exp.Table
    cte: exp.CTE | None
    name: str
    """Qualified and folded; for a CTE its own name."""
    offset: int
    width: int


def references(tree: exp.Expr) -> list[Reference]:
    """Every table name of a query, in the order of the text."""
    found = []
    for table in tree.find_all(exp.Table):
        if not isinstance(table.this, exp.Identifier):
            continue  # a table function
        parts = table_parts(table)
        names = [name_of(part) for part in parts]
        cte = _cte(table, names[0]) if len(parts) == 1 else None
        start = int(parts[0].meta.get("start", 0))
        end = int(parts[-1].meta.get("end", start))
        found.append(Reference(table, cte, names[0] if cte else qualified(names), start, end + 1 - start))
    return sorted(found, key=lambda reference: reference.offset)


def table_parts(table: exp.Table) -> list[exp.Expr]:
    """Catalog, schema and name, as many as are written."""
    return [part for part in (table.args.get("catalog"), table.args.get("db"), table.this) if isinstance(part, exp.Expr)]


def is_recursive(cte: exp.CTE) -> bool:
    """Whether a CTE of a WITH RECURSIVE reads itself."""
    with_ = cte.parent
    if not isinstance(with_, exp.With) or not with_.args.get("recursive"):
        return False
    name = cte_name(cte)
    return any(
        len(table_parts(table)) == 1 and isinstance(table.this, exp.Identifier) and name_of(table.this) == name
        for table in cte.this.find_all(exp.Table)
    )


def cte_name(cte: exp.CTE) -> str:
    """The name that a CTE defines."""
    return name_of(cte.args["alias"].this)


def _cte(table: exp.Table, name: str) -> exp.CTE | None:
    """The innermost CTE that ``name`` means where ``table`` stands.

    A CTE sees those before it in its own WITH, and itself where the WITH is recursive; the query sees all of them.
    """
    inside: exp.Expr = table
    outer: exp.Expr | None = table.parent
    while outer is not None:
        if isinstance(outer, exp.With) and isinstance(inside, exp.CTE):
            siblings = outer.expressions
            here = next(n for n, cte in enumerate(siblings) if cte is inside)
            found = _named(siblings[: here + 1] if outer.args.get("recursive") else siblings[:here], name)
        else:
            with_ = outer.args.get("with_")
            found = _named(with_.expressions, name) if isinstance(with_, exp.With) and with_ is not inside else None
        if found is not None:
            return found
        inside, outer = outer, outer.parent
    return None


def _named(ctes: list[exp.CTE], name: str) -> exp.CTE | None:
    """The last of ``ctes`` with this name."""
    return next((cte for cte in reversed(ctes) if cte_name(cte) == name), None)
