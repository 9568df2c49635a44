"""Where the parts of a parsed query stand in its text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlglot import Token, TokenType, exp

from thalweg.dialect.names import fold
from thalweg.dialect.thalweg import SELECT_END, SELECT_START

if TYPE_CHECKING:
    from collections.abc import Collection

    from thalweg.dialect.thalweg import Parsed

OPENERS: Final = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE})
CLOSERS: Final = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE})
ASKING: Final = frozenset({TokenType.IN, TokenType.EXISTS, TokenType.ANY, TokenType.ALL, TokenType.SOME})
JOIN_WORDS: Final = frozenset(
    {
        TokenType.JOIN, TokenType.LEFT, TokenType.RIGHT, TokenType.FULL, TokenType.INNER, TokenType.OUTER, TokenType.CROSS,
        TokenType.NATURAL, TokenType.SEMI, TokenType.ANTI, TokenType.ASOF, TokenType.LATERAL,
    }
)  # fmt: skip
SET_OPERATORS: Final = frozenset({TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT})
KEYWORDS: Final[dict[str, tuple[TokenType, ...]]] = {
    "group": (TokenType.GROUP_BY,),
    "having": (TokenType.HAVING,),
    "qualify": (TokenType.QUALIFY,),
    "order": (TokenType.ORDER_BY,),
    "sort": (TokenType.SORT_BY,),
    "limit": (TokenType.LIMIT, TokenType.FETCH),
    "offset": (TokenType.OFFSET,),
    "into": (TokenType.INTO,),
}


def name_of(identifier: exp.Expr) -> str:
    """An identifier node, folded."""
    if isinstance(identifier, exp.Identifier) and identifier.args.get("quoted"):
        return str(identifier.this)
    return fold(identifier.name)


def token_name(token: Token) -> str:
    """A token read as an identifier, folded."""
    return token.text if token.token_type in {TokenType.IDENTIFIER, TokenType.STRING} else fold(token.text)


def start_of(node: exp.Expr) -> int | None:
    """The first place that anything below ``node`` is known to stand at."""
    places = [n.meta[key] for n in node.walk() for key in ("start", SELECT_START) if key in n.meta]
    return min(places, default=None)


class Places:
    """Finds keywords and list items among a query's tokens."""

    def __init__(self, parsed: Parsed) -> None:
        """The tokens are in order."""
        self.tokens = parsed.tokens

    def keyword(self, select: exp.Select, key: str) -> int | None:
        """The keyword of a clause of ``select``: behind its list, at its own depth; DISTINCT stands before the list."""
        begin = int(select.meta.get(SELECT_END, 0))
        if key == "distinct":
            return max((t.start for t in self.tokens if t.token_type == TokenType.DISTINCT and t.start < begin), default=start_of(select))
        found = self._at_depth(begin, KEYWORDS.get(key, ()))
        return start_of(select) if found is None else found

    def behind(self, node: exp.Expr, key: str) -> int | None:
        """The last keyword of a clause that follows a whole set operation."""
        begin = start_of(node) or 0
        found = [t.start for t in self.tokens if t.start >= begin and t.token_type in KEYWORDS.get(key, ())]
        return found[-1] if found else start_of(node)

    def operator(self, node: exp.SetOperation) -> int | None:
        """UNION, EXCEPT or INTERSECT between the two sides."""
        begin, end = start_of(node.this) or 0, start_of(node.expression)
        found = [t.start for t in self.tokens if begin <= t.start and (end is None or t.start < end) and t.token_type in SET_OPERATORS]
        return found[-1] if found else begin

    def word(self, text: str, begin: int) -> int | None:
        """The first word of this spelling from ``begin`` on, in any case."""
        found = (t.start for t in self.tokens if t.start >= begin and t.text.upper() == text and t.token_type != TokenType.STRING)
        return next(found, begin)

    def subquery(self, node: exp.Expr) -> int | None:
        """Where a subquery in an expression begins for a reader: at its IN or EXISTS, or at its bracket."""
        begin = start_of(node)
        before = [token for token in self.tokens if begin is not None and token.start < begin]
        while before and before[-1].token_type == TokenType.L_PAREN:
            begin = before.pop().start
        if before and before[-1].token_type in ASKING:
            begin = before[-1].start
        return begin

    def join(self, item: exp.Expr) -> int | None:
        """Where the join begins that brings ``item`` in: at its first word; behind a comma at the item itself."""
        begin = start_of(item)
        before = [token for token in self.tokens if begin is not None and token.start < begin]
        while before and before[-1].token_type == TokenType.L_PAREN:
            begin = before.pop().start
        while before and before[-1].token_type in JOIN_WORDS:
            begin = before.pop().start
        return begin

    def items(self, start: int, end: int) -> list[list[Token]]:
        """The tokens from ``start`` to ``end``, split at the commas that stand in no brackets."""
        found: list[list[Token]] = [[]]
        depth = 0
        for token in self.tokens:
            if token.start < start or token.end >= end:
                continue
            depth += (token.token_type in OPENERS) - (token.token_type in CLOSERS)
            if token.token_type == TokenType.COMMA and depth == 0:
                found.append([])
            else:
                found[-1].append(token)
        return found if found[-1] else found[:-1]

    def _at_depth(self, begin: int, types: Collection[TokenType]) -> int | None:
        """The first token of these types from ``begin`` on that no bracket encloses."""
        depth = 0
        for token in self.tokens:
            if token.start < begin:
                continue
            depth += (token.token_type in OPENERS) - (token.token_type in CLOSERS)
            if depth < 0:
                return None
            if depth == 0 and token.token_type in types:
                return token.start
        return None
