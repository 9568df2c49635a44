"""What the engine says about a query it cannot plan, at the place in the query that it speaks of."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from thalweg.plan.draft import listed, nearest

if TYPE_CHECKING:
    from collections.abc import Callable

_PART = r"(?:\"(?:[^\"]|\"\")*\"|`(?:[^`]|``)*`|[^\W\d][\w$]*)"
_SCAN = re.compile(rf"(?P<skip>'(?:[^']|'')*'|--[^\n]*|/\*.*?\*/)|(?P<name>{_PART}(?:\s*\.\s*{_PART})*)|.", re.DOTALL)
_SPLIT = re.compile(_PART)
_FIELD = re.compile(rf"No field named (?P<name>{_PART}(?:\.{_PART})*)\.")
_MEANT = re.compile(r"Did you mean '(?P<name>[^\n]*)'\?")
_VALID = re.compile(r"Valid fields are (?P<names>.*?)\.(?:\n|$)", re.DOTALL)
_FUNCTION = re.compile(r"Invalid function '(?P<name>[^']*)'")
_AMBIGUOUS = re.compile(rf"Ambiguous reference to unqualified field (?P<name>{_PART})")
_TWICE = re.compile(r"unique expression names but the expression \"(?P<one>.*)\" at position \d+ and \"(?P<two>.*)\" at position \d+ have", re.DOTALL)
_STRUCT = re.compile(r"Field (?P<name>\S+) not found in struct")
_TYPE = re.compile(r"Unsupported SQL type (?P<name>\w+)")
_TABLE = re.compile(r"table '(?:datafusion\.public\.)?(?P<name>[^']*)' not found")
_PARSER = re.compile(r"ParserError\(\"(?P<what>.*?)(?: at Line: (?P<line>\d+), Column: (?P<column>\d+))?\"\)", re.DOTALL)
_MISPLACED = re.compile(r"\b(?P<after>FROM|JOIN)\s+(?P<word>WHERE|GROUP|ORDER|LIMIT|HAVING|UNION|ON)\b", re.IGNORECASE)
_QUOTED = re.compile(r"'(?P<name>[^\W\d]\w*)'")
_UNPLANNED = re.compile(r"does not support logical expression (?P<what>\w+)\((?:.*table: \"(?P<table>[^\"]*)\".*?name: \"(?P<name>[^\"]*)\" \}\)$)?", re.DOTALL)
_UNNEST = re.compile(r"\bUNNEST\s*\(", re.IGNORECASE)
_SHORTEST: Final = 3


@dataclass(frozen=True, slots=True)
class Refusal:
    """A message at a run of a query's text."""

    message: str
    offset: int
    width: int
    hint: str | None


def place(message: str, sql: str) -> Refusal:
    """Make the engine's message readable and find the name it speaks of; the query's start where it names none."""
    for pattern, reader in _READERS:
        found = pattern.search(message)
        if found is not None:
            return reader(found, message, sql)
    shown = message.split("\n", maxsplit=1)[0].strip()
    for name in _QUOTED.findall(message):
        at = _find(sql, (name,)) if len(name) >= _SHORTEST else None
        if at is not None:
            return Refusal(shown, *at, None)
    return Refusal(shown, *_start(sql), None)


def _field(found: re.Match[str], message: str, sql: str) -> Refusal:
    """An unknown column: the nearest one, or those there are."""
    parts = _parts(found["name"])
    shown = f"no column named {'.'.join(parts)}"
    at = _find(sql, parts) or _find(sql, parts[-1:]) or _start(sql)
    valid = _VALID.search(message)
    columns = [_parts(name) for name in re.findall(rf"{_PART}(?:\.{_PART})*", valid["names"])] if valid else []
    meant = _MEANT.search(message)
    target = _parts(meant["name"]) if meant else None
    if target is not None and nearest(parts[-1].lower(), [target[-1].lower()]) is None:
        target = None  # the engine always names something, however far it is
    if target is None:
        near = nearest(parts[-1], [c[-1] for c in columns])
        if near is None:
            names = list(dict.fromkeys(_written(c[-1]) for c in columns))
            return Refusal(shown, *at, f"columns: {listed(names)}" if names else None)
        target = next(c for c in columns if f"'{c[-1]}'" in near)
    name = _written(target[-1])
    if name.startswith('"') and target[-1].lower() == parts[-1].lower():
        return Refusal(shown, *at, f"did you mean {name}? without quotes a name is folded to lower case")
    return Refusal(shown, *at, f"did you mean {name}?")


def _function(found: re.Match[str], message: str, sql: str) -> Refusal:
    """An unknown function."""
    meant = _MEANT.search(message)
    at = _find(sql, (found["name"],)) or _start(sql)
    return Refusal(f"no function named {found['name']}", *at, f"did you mean {meant['name']}?" if meant else "twg repl: \\df lists all functions")


def _ambiguous(found: re.Match[str], _message: str, sql: str) -> Refusal:
    """A column that two relations have."""
    parts = _parts(found["name"])
    at = _find(sql, parts) or _start(sql)
    return Refusal(f"column {parts[-1]} is ambiguous: more than one relation has it", *at, f"write which: relation.{_written(parts[-1])}")


def _twice(found: re.Match[str], _message: str, sql: str) -> Refusal:
    """Two output columns of one name."""
    name = found["two"].rsplit(" AS ", 1)[-1].rsplit(".", 1)[-1].strip('"')
    at = _find(sql, (name,), nth=-1) or _start(sql)
    return Refusal(f"the query gives more than one column the name {name}", *at, "give each its own name with AS")


def _member(found: re.Match[str], _message: str, sql: str) -> Refusal:
    """An unknown field of a struct."""
    name = found["name"]
    at = _find(sql, (name,), anywhere=True) or _start(sql)
    return Refusal(f"no field named {name} in the struct", *at, None)


def _type(found: re.Match[str], message: str, sql: str) -> Refusal:
    """A type that the engine does not know."""
    at = _find(sql, (found["name"],), nth=-1) or _start(sql)
    return Refusal(message.rsplit(": ", 1)[-1], *at, None)


def _table(found: re.Match[str], _message: str, sql: str) -> Refusal:
    """A relation that does not exist where it is named."""
    parts = tuple(found["name"].split("."))
    at = _find(sql, parts) or _find(sql, parts[-1:]) or _start(sql)
    return Refusal(f"no table or view named {found['name']}", *at, None)


def _parser(found: re.Match[str], _message: str, sql: str) -> Refusal:
    """Text that is no SQL; the engine counts lines and columns from 1."""
    at = _start(sql)
    misplaced = _MISPLACED.search(sql)
    if misplaced is not None:
        after, word = misplaced["after"].upper(), misplaced["word"].upper()
        return Refusal(f"expected a table or view after {after}, found {word}", misplaced.start("word"), len(word), None)
    if found["line"]:
        before = sum(len(line) + 1 for line in sql.split("\n")[: int(found["line"]) - 1])
        at = (min(before + int(found["column"]) - 1, max(len(sql) - 1, 0)), 1)
    what = found["what"].replace('\\"', '"')
    return Refusal(what[:1].lower() + what[1:], *at, None)


def _unplanned(found: re.Match[str], message: str, sql: str) -> Refusal:
    """A subquery, or a function in FROM, that reads the row beside it, in a form that the engine does not turn into a join."""
    if found["what"] not in {"OuterReferenceColumn", "ScalarSubquery", "InSubquery", "Exists"}:
        return Refusal(message.split("\n", maxsplit=1)[0], *_start(sql), None)
    name = found["name"]
    at = (_find(sql, (found["table"], name), nth=-1) or _find(sql, (name,), nth=-1) if name else None) or _start(sql)
    unnests = name is not None and _UNNEST.search(sql) is not None
    what = f"a function or subquery that reads {name} of the row beside it" if name else "this subquery, which reads the row beside it"
    hint = f"write SELECT unnest({_written(name)}) in place of the join" if unnests else "write it as a join"
    return Refusal(f"the engine has no plan for {what}", *at, hint)


_READERS: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str], str, str], Refusal]], ...]] = (
    (_FIELD, _field), (_FUNCTION, _function), (_AMBIGUOUS, _ambiguous), (_TWICE, _twice), (_STRUCT, _member), (_TYPE, _type), (_TABLE, _table), (_PARSER, _parser),
    (_UNPLANNED, _unplanned),
)  # fmt: skip


def _parts(name: str) -> tuple[str, ...]:
    """``o."Na me"`` to its parts, without quotes."""
    return tuple(p[1:-1].replace(p[0] * 2, p[0]) if p[0] in '"`' else p for p in _SPLIT.findall(name))


def _written(name: str) -> str:
    """A name as SQL has to spell it."""
    return name if re.fullmatch(r"[a-z_][a-z0-9_$]*", name) else '"' + name.replace('"', '""') + '"'


def _find(sql: str, parts: tuple[str, ...], *, nth: int = 0, anywhere: bool = False) -> tuple[int, int] | None:
    """Offset and width of a dotted name in a query, outside of strings and comments; ``anywhere`` looks into strings too."""
    wanted = tuple(p.lower() for p in parts)
    hits = []
    for m in _SCAN.finditer(sql):
        if m.lastgroup == "name":
            places = list(_SPLIT.finditer(m[0]))
            names = tuple(_parts(p[0])[0].lower() for p in places)
            for i in range(len(names) - len(wanted) + 1):
                if names[i : i + len(wanted)] == wanted:
                    start, end = places[i].start(), places[i + len(wanted) - 1].end()
                    hits.append((m.start() + start, end - start))
        elif anywhere and m.lastgroup == "skip" and m[0].strip("'").lower() == wanted[-1]:
            hits.append((m.start(), len(m[0])))
    return hits[nth] if hits else None


def _start(sql: str) -> tuple[int, int]:
    """The first word of a query."""
    word = re.search(r"\w+", sql)
    return (word.start(), len(word[0])) if word else (0, 1)
