"""Whether a query keeps the rows of its stream apart: a walk over its tree that gathers the edits or finds the reason why not."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqlglot import exp

from thalweg.dialect import joins, refusals
from thalweg.dialect.names import DEFAULT_SCHEMA, quote
from thalweg.dialect.places import Places, name_of, start_of
from thalweg.dialect.refusals import NotRows
from thalweg.dialect.scope import is_recursive, table_parts
from thalweg.dialect.splice import Relation, Rows, behind_columns, list_edits
from thalweg.dialect.thalweg import LIST_END

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from thalweg.dialect.scope import Reference
    from thalweg.dialect.thalweg import Parsed

_HARMLESS = frozenset({"expressions", "from_", "joins", "where", "with_", "laterals", "windows", "kind", "hint"})
_PLAIN_UNION = frozenset({"this", "expression", "distinct", "with_", "by_name"})
_PLAIN_TABLE = frozenset({"this", "db", "catalog", "alias", "joins", "laterals"})
_WRAPPER = frozenset({"this", "alias", "with_", "joins", "laterals"})


class Opaque(NamedTuple):
    """Something that DataFusion may run row by row, and that no hidden column can be put through."""

    reason: str
    offset: int | None


class RowWalk:
    """One query. ``None`` stands for a query that reads no stream; a refusal is raised as NotRows."""

    def __init__(self, parsed: Parsed, references: Iterable[Reference], streaming: Collection[str], aggregates: Collection[str]) -> None:
        """``references`` are those of ``parsed``."""
        self.places = Places(parsed)
        self.references = {id(reference.node): reference for reference in references}
        self.streaming = frozenset(streaming)
        self.aggregates = frozenset(aggregates)
        self.opaque: Opaque | None = None
        self.ctes: dict[int, Rows | NotRows | None] = {}

    # -- queries
    def query(self, node: exp.Expr) -> Rows | None:
        """A SELECT, a set operation, or either in parentheses."""
        if isinstance(node, exp.Subquery):
            return self.wrapped(node)
        inner = self.with_clause(node)
        if isinstance(node, exp.SetOperation):
            found = self.set_operation(node)
        elif isinstance(node, exp.Select):
            found = self.select(node)
        elif isinstance(node, exp.Values | exp.Table):
            found = self.relation(node).rows
        else:
            raise NotRows("error", f"expected a SELECT, found {node.key.upper()}", start_of(node) or 0)
        return found if found is None else Rows((*found.edits, *(edit for rows in inner for edit in rows.edits)), found.sources)

    def with_clause(self, node: exp.Expr) -> list[Rows]:
        """Judge every CTE of a WITH; those that keep rows apart are widened whether anything reads them or not."""
        with_ = node.args.get("with_")
        found = []
        for cte in with_.expressions if isinstance(with_, exp.With) else []:
            try:
                verdict: Rows | NotRows | None = self.cte(cte)
            except NotRows as refused:
                if refused.kind == "error" or _needs_its_width(cte):
                    raise
                verdict = refused  # matters only where something reads it
            self.ctes[id(cte)] = verdict
            if isinstance(verdict, Rows):
                found.append(verdict)
        return found

    def cte(self, cte: exp.CTE) -> Rows | None:
        """One CTE."""
        alias = cte.args["alias"]
        if is_recursive(cte):
            self.ctes[id(cte)] = None
            if self.reads_stream(cte.this):
                raise refusals.over_stream("a recursive CTE goes over the whole stream again and again", alias.this.meta.get("start"))
            return None
        rows = self.query(cte.this)
        return None if rows is None else behind_columns(rows, alias.args.get("columns") or [])

    def wrapped(self, node: exp.Subquery) -> Rows | None:
        """A query in parentheses, perhaps with clauses of its own behind them."""
        inner = self.with_clause(node)
        rows = self.query(node.this)
        if rows is None:
            return None
        for key, value in node.args.items():
            if value and key not in _WRAPPER:
                self.refuse_clause(key, self.places.behind(node.this, key))
        return Rows((*rows.edits, *(edit for cte in inner for edit in cte.edits)), rows.sources)

    def set_operation(self, node: exp.SetOperation) -> Rows | None:
        """UNION ALL keeps rows apart; every other set operation compares them."""
        if not _is_union_all(node):
            self.comparing(node)
            return None
        branches = list(_branches(node))
        found = [self.query(branch) for branch in branches]
        streams = [rows for rows in found if rows is not None]
        if not streams:
            return None
        for branch, rows in zip(branches, found, strict=True):
            if rows is None:
                what = "this branch of UNION ALL reads no stream, so its rows would come again with every micro-batch"
                raise NotRows("refused", what, start_of(branch), hint="COPY the static rows on their own, with twg repl -c or another file")
        for key, value in node.args.items():
            if value and key not in _PLAIN_UNION:
                self.refuse_clause(key, self.places.behind(node, key))
        return Rows(tuple(edit for rows in streams for edit in rows.edits), tuple(source for rows in streams for source in rows.sources))

    def comparing(self, node: exp.SetOperation) -> None:
        """UNION, EXCEPT and INTERSECT."""
        sides = [self.reads_stream(side) for side in (node.this, node.expression)]
        for value in node.args.values():
            if isinstance(value, exp.Expr) and value not in (node.this, node.expression) and not isinstance(value, exp.With):
                self.static_only(value)
        if any(sides):
            keyword = node.key.upper()
            hint = "UNION ALL keeps every row" if keyword == "UNION" else refusals.SNAPSHOT
            raise refusals.over_stream(f"{keyword} compares all rows of the stream", self.places.operator(node), width=len(keyword), hint=hint)

    def reads_stream(self, node: exp.Expr) -> bool:
        """Whether a query reads a stream, in whatever way."""
        try:
            return self.query(node) is not None
        except NotRows as refused:
            if refused.kind == "error":
                raise
            return True

    # -- one SELECT
    def select(self, node: exp.Select) -> Rows | None:
        """One SELECT over at most one stream."""
        stream, count = self.from_clause(joins.from_items(node))
        for key, value in node.args.items():
            if key not in {"from_", "joins", "with_", "laterals"}:
                for item in value if isinstance(value, list) else [value]:
                    if isinstance(item, exp.Expr):
                        self.static_only(item)
        if stream is None or stream.rows is None:
            return None
        if node.args.get("into"):
            raise NotRows("error", "SELECT INTO makes a table; a view is only a query", self.places.keyword(node, "into"), width=len("INTO"))
        for key, value in node.args.items():
            if value and key not in _HARMLESS:
                self.refuse_clause(key, self.places.keyword(node, key))
        self.no_aggregates(node)
        if LIST_END not in node.meta:
            self.note_opaque("FROM without SELECT has no list that a row number could be added to", start_of(node))
            return stream.rows
        edits = list_edits(node, stream, self.places, alone=count == 1)
        return Rows((*stream.rows.edits, *edits), stream.rows.sources)

    def from_clause(self, items: Iterable[tuple[exp.Expr, exp.Join | None]]) -> tuple[Relation | None, int]:
        """The one stream of a FROM clause, if there is one, and how many relations there are."""
        stream: Relation | None = None
        count = 0
        for item, join in items:
            relation = self.relation(item)
            count += 1
            if join is not None:
                for key in ("on", "match_condition"):
                    if isinstance(join.args.get(key), exp.Expr):
                        self.static_only(join.args[key])
                self.join(join, item, left=stream is not None, right=relation.rows is not None)
            if relation.rows is None:
                continue
            if stream is not None:
                raise joins.two_streams(self.places.join(item))
            stream = relation
        return stream, count

    def join(self, join: exp.Join, item: exp.Expr, *, left: bool, right: bool) -> None:
        """One join between what stands left of it and ``item``."""
        if left and right:
            raise joins.two_streams(self.places.join(item))
        if not left and not right:
            return
        word = joins.unusual(join)
        if word is not None:
            self.note_opaque(f"{word} JOIN is not known here", self.places.join(item))
        joins.check(join, self.places.join(item), left_streams=left, right_streams=right)

    # -- relations
    def relation(self, node: exp.Expr) -> Relation:
        """One item of a FROM clause."""
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            return self.table(node)
        if isinstance(node, exp.Subquery):
            if _is_query(node.this):
                rows = self.wrapped(node)
                return _aliased(node, Relation(rows, frozenset(), None))
            return self.join_tree(node)
        if isinstance(node, exp.Lateral) and isinstance(node.this, exp.Query):
            if self.reads_stream(node.this):
                raise refusals.over_stream("a LATERAL subquery reads the whole stream for each row", start_of(node.this))
            return Relation(None, frozenset(), None)
        for child in node.iter_expressions():
            if not isinstance(child, exp.TableAlias | exp.Join):
                self.static_only(child)
        return _aliased(node, Relation(None, frozenset(), None))

    def table(self, node: exp.Table) -> Relation:
        """A table by name: a CTE, a stream or something static."""
        reference = self.references[id(node)]
        names = [name_of(part) for part in table_parts(node)]
        known = {tuple(names[at:]) for at in range(len(names))}
        qualifier = ".".join(quote(name) for name in names)
        if reference.cte is not None:
            verdict = self.ctes.get(id(reference.cte))
            if isinstance(verdict, NotRows):
                raise verdict
            return _aliased(node, Relation(verdict, frozenset(known), qualifier))
        if reference.name not in self.streaming:
            return _aliased(node, Relation(None, frozenset(known), qualifier))
        for key, value in node.args.items():
            if value and key not in _PLAIN_TABLE:
                keyword = refusals.CLAUSES[key][0] if key in refusals.CLAUSES else ""
                self.refuse_clause(key, self.places.word(keyword, reference.offset))
        known.add((DEFAULT_SCHEMA, names[-1]))
        return _aliased(node, Relation(Rows((), (reference.name,)), frozenset(known), qualifier))

    def join_tree(self, node: exp.Subquery) -> Relation:
        """A table or joins in parentheses."""
        inner = node.this
        items: list[tuple[exp.Expr, exp.Join | None]] = [(inner, None)]
        items += [(join.this, join) for join in inner.args.get("joins") or []]
        stream, count = self.from_clause(items)
        found = stream or Relation(None, frozenset(), None)
        if count == 1:
            return _aliased(node, found)
        found = Relation(found.rows, found.names, found.qualifier, last=False)
        alias = node.args.get("alias")
        if found.rows is not None and isinstance(alias, exp.TableAlias) and alias.args.get("columns"):
            self.note_opaque("column names over joins in parentheses leave no place for a row number", start_of(node))
        return _aliased(node, found)

    # -- expressions
    def static_only(self, node: exp.Expr) -> None:
        """Every query inside an expression must read static tables only."""
        for inner in node.walk(prune=lambda n: isinstance(n, exp.Query | exp.Table)):
            if isinstance(inner, exp.Query) and self.reads_stream(inner):
                what = "a subquery in an expression looks at all rows of the stream"
                raise refusals.over_stream(what, self.places.subquery(inner), hint=joins.STATIC_SIDE)
            if isinstance(inner, exp.Table) and self.relation(inner).rows is not None:
                raise refusals.over_stream("an expression looks at all rows of the stream", start_of(inner))

    def no_aggregates(self, select: exp.Select) -> None:
        """No aggregate and no window function in the list of a SELECT over a stream."""
        for item in select.expressions:
            for node in _outside_of_queries(item):
                if isinstance(node, exp.Window):
                    raise refusals.over_stream("a window function looks at several rows of the stream", start_of(node))
                if isinstance(node, exp.Anonymous) and _called(node) in self.aggregates:
                    raise refusals.aggregate(_called(node), start_of(node))
                if isinstance(node, exp.AggFunc | exp.Filter | exp.WithinGroup):
                    raise refusals.over_stream("an aggregate gathers all rows of the stream", start_of(node))

    def refuse_clause(self, key: str, offset: int | None) -> None:
        """Refuse a clause that needs the whole stream; note one that is only unknown."""
        if key in refusals.CLAUSES:
            raise refusals.clause(key, offset)
        self.note_opaque(f"the clause {key.strip('_').replace('_', ' ').upper()} is not known here", offset)

    def note_opaque(self, reason: str, offset: int | None) -> None:
        """Remember the first thing that no hidden column can be put through; what must be refused is still looked for."""
        self.opaque = self.opaque or Opaque(reason, offset)


def _aliased(node: exp.Expr, found: Relation) -> Relation:
    """A relation under its alias, whose column names must cover the hidden column."""
    alias = node.args.get("alias")
    if not isinstance(alias, exp.TableAlias):
        return found
    names, qualifier = found.names, found.qualifier
    if isinstance(alias.this, exp.Identifier):
        name = name_of(alias.this)
        names, qualifier = frozenset({(name,)}), quote(name)
    rows = found.rows if found.rows is None else behind_columns(found.rows, alias.args.get("columns") or [])
    return Relation(rows, names, qualifier, found.last)


def _is_query(node: exp.Expr) -> bool:
    """A SELECT or set operation, perhaps in more parentheses; not a join tree."""
    while isinstance(node, exp.Subquery) and not node.args.get("alias") and not node.args.get("joins"):
        node = node.this
    return isinstance(node, exp.Select | exp.SetOperation)


def _is_union_all(node: exp.Expr) -> bool:
    """Whether this is UNION ALL."""
    return isinstance(node, exp.Union) and node.args.get("distinct") is False


def _branches(node: exp.SetOperation) -> Iterator[exp.Expr]:
    """The branches of a chain of UNION ALL; the chain hangs on its left side and may be long."""
    right = []
    left: exp.Expr = node
    while isinstance(left, exp.SetOperation) and _is_union_all(left) and (left is node or not _has_clauses(left)):
        right.append(left.expression)
        left = left.this
    yield left
    yield from reversed(right)


def _has_clauses(node: exp.SetOperation) -> bool:
    """Whether a set operation has a WITH, an ORDER BY or another clause of its own."""
    return any(value for key, value in node.args.items() if key not in _PLAIN_UNION or key in {"with_", "by_name"})


def _needs_its_width(cte: exp.CTE) -> bool:
    """Whether a refused CTE may no longer plan once what it reads has one column more."""
    return cte.find(exp.SetOperation) is not None or any(alias.args.get("columns") for alias in cte.find_all(exp.TableAlias))


def _outside_of_queries(node: exp.Expr) -> Iterator[exp.Expr]:
    """Every node of an expression that is in no subquery."""
    for inner in node.walk(prune=lambda n: isinstance(n, exp.Query)):
        if not isinstance(inner, exp.Query):
            yield inner


def _called(node: exp.Anonymous) -> str:
    """The name of a called function, folded."""
    name = node.this
    return name_of(name) if isinstance(name, exp.Identifier) else str(name).lower()
