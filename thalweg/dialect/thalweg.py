"""DataFusion's SQL for sqlglot: a query to tokens and a tree whose SELECTs know where their lists stand. Never used to write SQL.

The base is sqlglot's Postgres. Calls stay calls of the name as written, keywords of other products are plain words, and a
hint, a command or a template block is never seen where DataFusion sees none.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import ErrorLevel, SqlglotError
from sqlglot.parser import Parser as BaseParser
from sqlglot.parsers.postgres import PostgresParser

from thalweg.dialect.lexer import without_comments

if TYPE_CHECKING:
    from collections.abc import Iterator

_SPECIAL_CALLS: Final = frozenset({"CAST", "TRY_CAST", "EXTRACT", "SUBSTRING", "TRIM", "POSITION", "OVERLAY", "CEIL", "FLOOR"})
_PLAIN_WORDS: Final = frozenset(
    ["GLOB", "PARTITIONED_BY", "UNCACHE", "VARIADIC", "NOTNULL", "ISNULL", "RLIKE", "REGEXP", "ONLY", "LOCK", "GRANT", "REVOKE", "ROLLBACK", "COMMIT", "STRAIGHT_JOIN", "RETURNING", "CACHE", "KILL", "MERGE", "DESCRIBE", "COMMENT", "LOAD", "TRUNCATE", "COPY"]
)
_UNSEEN: Final = frozenset({TokenType.BLOCK_START, TokenType.BLOCK_END, TokenType.HINT})
_PARSER_FAULTS: Final = (AttributeError, IndexError, KeyError, TypeError, ValueError)
"""What sqlglot's parser raises on broken text where it meant to raise an error of its own (seen: AttributeError)."""
_DEPTH: Final = 10_000
SELECT_START: Final = "select_start"
LIST_START: Final = "list_start"
LIST_END: Final = "list_end"
SELECT_END: Final = "select_end"
TRAILING_COMMA: Final = "trailing_comma"


class DataFusionParser(PostgresParser):
    """Records on every Select where its keyword ends and where its list begins and ends."""

    FUNCTIONS: ClassVar[dict[str, Any]] = {}
    FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {k: v for k, v in BaseParser.FUNCTION_PARSERS.items() if k in _SPECIAL_CALLS}
    NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
        k: v for k, v in BaseParser.NO_PAREN_FUNCTION_PARSERS.items() if k in {"ANY", "CASE"}
    }
    CONJUNCTION: ClassVar[dict[TokenType, Any]] = {**PostgresParser.CONJUNCTION, TokenType.XOR: exp.Xor}
    STRING_ALIASES: ClassVar[bool] = True  # DataFusion reads id 'x' and id AS 'x' as aliases
    _list: dict[str, int | bool] | None = None

    def _parse_projections(self) -> tuple[list[exp.Expr], list[exp.Expr] | None]:
        """The select list; the node that it belongs to is made by the very next call of ``expression``."""
        before = self._prev
        keyword = next((t for t in reversed(self._tokens[: self._index]) if t.token_type == TokenType.SELECT), before)
        parsed = super()._parse_projections()
        self._list = {
            SELECT_START: keyword.start,
            SELECT_END: before.end + 1,
            LIST_START: before.end + 1,
            LIST_END: self._prev.end + 1,
            TRAILING_COMMA: self._prev.token_type == TokenType.COMMA,
        }
        return parsed

    def expression(self, instance: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - the signature is sqlglot's
        """Hang the recorded places on the Select."""
        node = super().expression(instance, *args, **kwargs)
        if isinstance(node, exp.Select) and self._list is not None:
            node.meta.update(self._list)
            self._list = None
        return node


class DataFusion(Postgres):
    """The dialect of DataFusion 55's generic SQL parser, as far as reading goes."""

    NUMBERS_CAN_BE_UNDERSCORE_SEPARATED = False
    Parser = DataFusionParser

    class Tokenizer(Postgres.Tokenizer):
        """Postgres's tokens without commands, template blocks and the words that are plain names here."""

        IDENTIFIERS: ClassVar[list[str | tuple[str, str]]] = ['"', "`"]
        COMMANDS: ClassVar[set[TokenType]] = set()
        KEYWORDS: ClassVar[dict[str, TokenType]] = {
            k: v for k, v in Postgres.Tokenizer.KEYWORDS.items() if v not in _UNSEEN and k not in _PLAIN_WORDS
        }


class Unreadable(Exception):
    """sqlglot cannot read the query; DataFusion may still be able to."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """One query: its text, its tokens and its tree."""

    sql: str
    tokens: tuple[Token, ...]
    tree: exp.Expr


def parse_query(sql: str) -> Parsed:
    """Parse one query; raises Unreadable. Token offsets are code points into ``sql``, ``end`` is the last one."""
    dialect = DataFusion()
    try:
        text = without_comments(sql)  # sqlglot does not see GROUP BY where a comment stands between the two
        tokens = dialect.tokenize(text)
        if any(token.token_type == TokenType.PIPE_GT for token in tokens):
            raise Unreadable("pipe syntax")
        trees = [tree for tree in dialect.parser(error_level=ErrorLevel.IMMEDIATE).parse(tokens, text) if tree is not None]
    except RecursionError as e:
        raise Unreadable("nested too deeply") from e
    except (SqlglotError, *_PARSER_FAULTS) as e:
        raise Unreadable(str(e).split("\n", maxsplit=1)[0]) from e
    if len(trees) != 1:
        raise Unreadable("expected one query")
    return Parsed(sql, tuple(tokens), trees[0])


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Room for sqlglot's recursive descent: DataFusion allows 50 levels of parentheses, each is some 20 frames."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _DEPTH))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
