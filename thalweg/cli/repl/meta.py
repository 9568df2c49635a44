r"""Backslash commands: ``\d``, ``\timing``, ``\watch`` and their kin, one function each."""

from __future__ import annotations

import difflib
import fnmatch
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from thalweg import resources
from thalweg.cli.render import printable
from thalweg.cli.rows import aligned
from thalweg.dialect.names import fold, nearest
from thalweg.model.options import redact_url

if TYPE_CHECKING:
    from collections.abc import Callable

    from thalweg.cli.repl.pieces import Piece
    from thalweg.cli.repl.shell import Shell

_WATCH_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True)
class Command:
    """One backslash command."""

    name: str
    takes: str
    does: str
    call: Callable[[Shell, Piece, str], None]


def run(shell: Shell, piece: Piece) -> None:
    """Carry out one command; raises ScriptError for one that does not exist."""
    name, _, argument = piece.text.partition(" ")
    command = next((c for c in COMMANDS if c.name == name), None)
    if command is None:
        near = difflib.get_close_matches(name, [c.name for c in COMMANDS], n=1)
        raise piece.error(f"no command {name}", width=len(name), hint=f"did you mean {near[0]}?" if near else "\\? lists all commands")
    command.call(shell, piece, argument.strip().rstrip(";").strip())


def _describe(shell: Shell, piece: Piece, argument: str) -> None:
    r"""``\d``: one relation, or all of them with lanes and COPYs."""
    relations = {r.name: r for r in shell.workspace.relations()}
    if not argument:
        rows = [[r.name, r.kind, _columns(r.schema), r.about] for r in relations.values()]
        rows += [[lane.name, "COPY", _columns(lane.schema), f"{lane.relation} -> {redact_url(lane.location)}"] for lane in shell.workspace.plan.lanes]
        _table(shell, ["name", "kind", "columns", "about"], rows)
        return
    name = argument[1:-1] if argument.startswith('"') and argument.endswith('"') else fold(argument)
    found = relations.get(name)
    if found is None:
        near = nearest(name, relations)
        raise piece.error(f"no table or view named {name}", 3, width=len(argument), hint=f"did you mean {near}?" if near else "\\d lists all of them")
    if found.schema is None:
        shell.note(f"{name}: unresolved, its schema lies in a registry that was not asked or gave no answer")
        return
    never = {column for table in shell.workspace.plan.sources if table.name == name for column in table.not_null}
    rows = [[f.name, str(f.type), "yes" if f.nullable and f.name not in never else "no"] for f in found.schema]
    _table(shell, ["column", "type", "null"], rows)


def _tables(shell: Shell, _piece: Piece, _argument: str) -> None:
    r"""``\dt``: tables and views."""
    rows = [[r.name, r.kind, _columns(r.schema), r.about] for r in shell.workspace.relations() if r.kind in {"stream", "table", "view"}]
    _table(shell, ["name", "kind", "columns", "about"], rows)


def _functions(shell: Shell, _piece: Piece, argument: str) -> None:
    r"""``\df``: functions, all or those that match."""
    pattern = argument.lower() if "*" in argument else f"*{argument.lower()}*"
    rows = [[name, kind.lower(), signature] for name, kind, signature in shell.workspace.session.functions() if fnmatch.fnmatch(name.lower(), pattern)]
    _table(shell, ["function", "kind", "call"], rows)


def _timing(shell: Shell, _piece: Piece, argument: str) -> None:
    r"""``\timing``: say how long each question took."""
    shell.timing = {"on": True, "off": False}.get(argument.lower(), not shell.timing)
    shell.note(f"timing is {'on' if shell.timing else 'off'}")


def _expanded(shell: Shell, piece: Piece, argument: str) -> None:
    r"""``\x``: rows as blocks, always, never, or where the columns do not fit."""
    wanted = argument.lower() or ("off" if shell.expanded == "on" else "on")
    if wanted not in {"on", "off", "auto"}:
        raise piece.error(f"expected on, off or auto, found {argument}", 3, width=len(argument))
    shell.expanded = wanted
    shell.note(f"expanded display is {wanted}")


def _include(shell: Shell, piece: Piece, argument: str) -> None:
    r"""``\i``: load a pipeline file, or do what another file says; files that ship with the package are found too."""
    if not argument:
        raise piece.error("which file?", hint="\\i pipeline.sql")
    shell.run_file(str(resources.find(argument.strip("'\""), ".")))


def _watch(shell: Shell, piece: Piece, argument: str) -> None:
    r"""``\watch``: ask the last question again and again, until Ctrl-C or so many times."""
    if shell.last is None:
        raise piece.error("there is no question yet to ask again", hint="SELECT something first")
    seconds, _, times = argument.partition(" ")
    try:
        pause, left = float(seconds or _WATCH_SECONDS), int(times) if times.strip() else -1
    except ValueError:
        raise piece.error(f"expected seconds, and perhaps a number of times, found {argument}", len("\\watch "), width=len(argument)) from None
    while left != 0:
        shell.clear()
        shell.ask(shell.last, tail=False)
        left -= 1
        if left != 0:
            time.sleep(max(0.0, pause))


def _tail(shell: Shell, piece: Piece, argument: str) -> None:
    r"""``\tail``: rows as they come, of a query, a relation, or the last question."""
    if argument:
        is_name = argument in {r.name for r in shell.workspace.relations()}
        text = f"SELECT * FROM {argument}" if is_name else argument  # noqa: S608 - the user's own query
        before = "" if is_name else piece.before + piece.text[: piece.text.index(argument)]
        shell.ask(replace(piece, text=text, before=before), tail=True)
    elif shell.last is None:
        raise piece.error("there is no question yet to tail", hint="\\tail SELECT ...")
    else:
        shell.ask(shell.last, tail=True)


def _quit(shell: Shell, _piece: Piece, _argument: str) -> None:
    r"""``\q``: leave."""
    shell.done = True


def _help(shell: Shell, _piece: Piece, _argument: str) -> None:
    r"""``\?``: this list."""
    width = max(len(f"{c.name} {c.takes}") for c in COMMANDS)
    for command in COMMANDS:
        shell.out.write(f"  {f'{command.name} {command.takes}':{width}}  {command.does}\n")
    shell.out.write("  statements end with ; and may take several lines\n")
    shell.out.write("  SET 'repl.mode' = 'snapshot' | 'tail'  what SELECT over a stream does: all up to now, or what comes\n")


def _columns(schema: object) -> str:
    """How many columns, or that nobody knows."""
    return "unresolved" if schema is None else str(len(schema))  # type: ignore[arg-type]  # pyarrow.Schema has a length


def _table(shell: Shell, headers: list[str], rows: list[list[str]]) -> None:
    """A small table; it is for people whatever the format of rows is."""
    shown = [[printable(cell) for cell in row] for row in rows]
    for line in aligned(headers, shown, [header == "columns" for header in headers], shell.look().width()):
        shell.out.write(line + "\n")
    shell.out.flush()


COMMANDS: Final = (
    Command("\\d", "[NAME]", "columns of a table or view; without a name: everything, lanes and COPYs too", _describe),
    Command("\\dt", "", "tables and views", _tables),
    Command("\\df", "[PATTERN]", "functions", _functions),
    Command("\\x", "[on|off|auto]", "rows as blocks instead of lines", _expanded),
    Command("\\timing", "[on|off]", "say how long each question took", _timing),
    Command("\\i", "FILE", "load a pipeline file (its COPYs are not run), or do what a file says", _include),
    Command("\\watch", "[SECONDS] [TIMES]", "ask the last question again and again; Ctrl-C ends it", _watch),
    Command("\\tail", "[QUERY|NAME]", "rows of a stream as they come; LIMIT or Ctrl-C ends it", _tail),
    Command("\\?", "", "this list", _help),
    Command("\\q", "", "leave", _quit),
)
