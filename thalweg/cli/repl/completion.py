"""What could come next: backslash commands, files, relations, columns, functions, keywords."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from prompt_toolkit.completion import Completer, Completion, PathCompleter
from prompt_toolkit.document import Document

from thalweg import config
from thalweg.cli.repl.meta import COMMANDS
from thalweg.dialect.names import fold, quote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from prompt_toolkit.completion import CompleteEvent

    from thalweg.cli.repl.workspace import Relation, Workspace

_WORDS: Final = (
    "ALL AND ANY AS ASC BETWEEN BY CASE CAST COPY CREATE CROSS CURRENT_DATE CURRENT_TIMESTAMP DESC DESCRIBE DISTINCT DROP ELSE END EXCEPT EXISTS EXPLAIN "
    "EXTERNAL EXTRACT FALSE FILTER FIRST FOLLOWING FROM FULL GROUP HAVING ILIKE IN INNER INTERSECT INTERVAL IS JOIN LAST LATERAL LEFT LIKE LIMIT LOCATION NOT "
    "NULL NULLS OFFSET ON OPTIONS OR ORDER OUTER OVER PARTITION PRECEDING QUALIFY RANGE RIGHT ROW ROWS SELECT SET SHOW SIMILAR SOME STORED TABLE TABLES THEN "
    "TO TRUE TRY_CAST UNBOUNDED UNION UNNEST USING VALUES VIEW WHEN WHERE WITH WITHIN"
)
KEYWORDS: Final = tuple(_WORDS.split())
_WORD: Final = re.compile(r"[\w$.\"]*$")
_RELATION_NEXT: Final = re.compile(r"\b(?:join|describe|desc|table|from\s+(?:[\w$.\"]+\s*,\s*)*|from)\s*(?<=[\s,])[\w$.\"]*$", re.IGNORECASE)
_SETTING_NEXT: Final = re.compile(r"\bset\s+'(?P<word>[\w.]*)$", re.IGNORECASE)
_ALIAS: Final = re.compile(r"\b(?:from|join)\s+(?P<name>[\w$.]+)(?:\s+(?:as\s+)?(?P<alias>(?!on\b|where\b|join\b|left\b|group\b|order\b|limit\b)[A-Za-z_]\w*))?", re.IGNORECASE)
_PLAIN: Final = re.compile(r"[a-z_][a-z0-9_]*")


class SqlCompleter(Completer):
    """Asks the workspace each time: what was just defined can be completed."""

    def __init__(self, workspace: Workspace) -> None:
        """Functions are listed once; they do not change."""
        self._workspace = workspace
        self._functions = sorted({name for name, _, _ in workspace.session.functions()})
        self._paths = PathCompleter(expanduser=True)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        """Candidates for the word before the cursor, the likely ones first."""
        text = document.text_before_cursor
        if text.startswith("\\"):
            yield from self._command(text, complete_event)
            return
        setting = _SETTING_NEXT.search(text)
        if setting:
            yield from _matching(setting["word"], config.KEYS, "setting")
            return
        found = _WORD.search(text)
        word = found.group() if found else ""
        relations = {r.name: r for r in self._workspace.relations()}
        if _RELATION_NEXT.search(text):
            yield from _matching(word, relations, lambda name: relations[name].kind)
            return
        yield from self._expression(document.text, word, relations)

    def _command(self, text: str, event: CompleteEvent) -> Iterator[Completion]:
        """A backslash command, or what it takes."""
        name, space, argument = text.partition(" ")
        if not space:
            for command in COMMANDS:
                if command.name.startswith(name):
                    yield Completion(command.name, -len(name), display_meta=command.does)
        elif name == "\\i":
            yield from self._paths.get_completions(Document(argument, len(argument)), event)
        elif name in {"\\d", "\\tail"}:
            yield from _matching(argument, [r.name for r in self._workspace.relations()], "relation")
        elif name == "\\df":
            yield from _matching(argument, self._functions, "function")

    def _expression(self, text: str, word: str, relations: dict[str, Relation]) -> Iterator[Completion]:
        """A column of a relation that the text mentions, a relation, a keyword or a function."""
        named = [(m["name"], m["alias"]) for m in _ALIAS.finditer(text)]
        head, dot, tail = word.rpartition(".")
        if dot:
            meant = next((name for name, alias in named if fold(head) in {alias and fold(alias), fold(name)}), head)
            if fold(meant) in relations:
                yield from _matching(tail, _columns([relations[fold(meant)]]), "column")
            yield from _matching(word, [name for name in relations if "." in name], "relation")
            return
        mentioned = [relations[fold(name)] for name, _ in named if fold(name) in relations] or list(relations.values())
        if not word and not named:
            return
        yield from _matching(word, _columns(mentioned), "column")
        yield from _matching(word, relations, lambda name: relations[name].kind)
        upper = word.isupper() or not word
        yield from _matching(word, KEYWORDS if upper else [k.lower() for k in KEYWORDS], "keyword")
        yield from _matching(word, self._functions, "function")


def _columns(relations: Iterable[Relation]) -> list[str]:
    """Column names, each once, quoted where they have to be."""
    names = {name: None for r in relations if r.schema is not None for name in r.schema.names}
    return [name if _PLAIN.fullmatch(name) else quote(name) for name in names]


def _matching(word: str, candidates: Iterable[str], about: str | Callable[[str], str]) -> Iterator[Completion]:
    """The candidates that begin like the word."""
    for candidate in candidates:
        if candidate.lower().startswith(word.lower()) and candidate != word:
            yield Completion(candidate, -len(word), display_meta=about if isinstance(about, str) else about(candidate))
