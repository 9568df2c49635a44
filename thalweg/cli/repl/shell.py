"""Carries out pieces: definitions, settings, questions and backslash commands, for a prompt and for scripts alike."""

from __future__ import annotations

import shutil
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from thalweg import config
from thalweg.cli import figures
from thalweg.cli.render import printable
from thalweg.cli.repl import meta
from thalweg.cli.repl.pieces import Piece, split
from thalweg.cli.repl.questions import bind, planned, tail_answer, understand, up_to_now_answer
from thalweg.cli.repl.workspace import read_file
from thalweg.cli.rows import TableLook, output, stream_table
from thalweg.dialect.lexer import Kind
from thalweg.dialect.names import fold
from thalweg.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

    from thalweg.cli.repl.questions import Notes, Question
    from thalweg.cli.repl.workspace import Workspace
    from thalweg.dialect.lexer import Lexeme
    from thalweg.plan.graph import SourceTable
    from thalweg.runtime.snapshot import Progress as Moved

_QUERY = frozenset({"SELECT", "WITH", "VALUES", "FROM", "(", "TABLE"})
_EXPLAIN = frozenset({"ANALYZE", "VERBOSE", "FORMAT", "INDENT", "TREE", "PGJSON", "GRAPHVIZ"})
_LOOK = frozenset({"EXPLAIN", "DESCRIBE", "DESC", "SHOW"})
_WRITE = frozenset({"INSERT", "UPDATE", "DELETE", "MERGE", "COPY", "CREATE", "DROP", "ALTER", "TRUNCATE"})
_FILLER = frozenset({"UNBOUNDED", "EXTERNAL", "TABLE", "VIEW", "FUNCTION", "IF", "NOT", "EXISTS"})
_DEEPEST = 16
"""How many files may include each other before it is taken for a loop."""


class Shell:
    """One REPL; used by one thread."""

    def __init__(self, workspace: Workspace, *, kind: str, out: TextIO, notes: TextIO) -> None:
        """Rows go to ``out`` as ``kind`` (table, csv, json, arrow), everything that is no row to ``notes``."""
        self.workspace, self.kind, self.out, self._notes = workspace, kind, out, notes
        self.timing = False
        self.expanded = "auto"
        self.last: Piece | None = None
        r"""The last question, for ``\watch`` and ``\tail``."""
        self.done = False
        r"""Set by ``\q``."""
        self._depth = 0

    # -- what to do
    def run_text(self, text: str, origin: str) -> None:
        r"""Do everything in a text, until something goes wrong or ``\q``."""
        for piece in split(text, origin, whole=True)[0]:
            self.run(piece)
            if self.done:
                return

    def run_file(self, path: str) -> None:
        """A pipeline file is loaded whole; any other file of statements and commands is done piece by piece."""
        text = read_file(path)
        pieces = split(text, path, whole=True)[0]
        if all(not p.is_command and _verb(p) in {"CREATE", "COPY", "SET"} for p in pieces):
            self.workspace.load(path)
            self.note(loaded(self.workspace, path))
            return
        self._depth += 1
        try:
            if self._depth > _DEEPEST:
                raise Piece("", path).error("files include each other without end")
            for piece in pieces:
                self.run(piece)
                if self.done:
                    return
        finally:
            self._depth -= 1

    def run(self, piece: Piece) -> None:
        """Do one thing; raises ThalwegError."""
        if piece.is_command:
            meta.run(self, piece)
            return
        verb = _verb(piece)
        if verb in _QUERY:
            self.ask(piece, tail=self.workspace.values.repl_mode == "tail")
        elif verb in _LOOK:
            self._look(piece)
        elif verb == "CREATE":
            self._define(piece)
        elif verb == "SET":
            self._set(piece)
        elif verb == "DROP":
            self._drop(piece)
        elif verb == "COPY":
            raise piece.error("COPY is not run here", width=4, hint="put it in a file: twg stream FILE runs it")
        else:
            raise piece.error(f"{verb or 'this'} is no statement of the REPL", width=len(verb), hint="SELECT, EXPLAIN, DESCRIBE, SHOW, CREATE, DROP, SET, or \\?")

    def ask(self, piece: Piece, *, tail: bool) -> None:
        """Answer a question and print the rows."""
        _only_reads(piece)
        self.last = piece
        began = time.perf_counter()
        question = understand(self.workspace, piece)
        notes: Notes = {}
        if tail:
            self._tail(question)
        elif question.tables:
            with self._bars() as bars, up_to_now_answer(self.workspace, question, bars, notes) as answer:
                self._print(answer.schema, answer.batches)
        else:
            bind(self.workspace, question)
            answer = planned(self.workspace, piece)
            self._print(answer.schema, answer.batches)
        for name, counts in notes.items():
            if counts.bad:
                codes = ", ".join(f"{code} {rows:,}" for code, rows in counts.bad.most_common())
                self.note(f"{name}: {figures.count(sum(counts.bad.values()), 'bad record')} left out ({codes}), the first: {counts.example}")
        if self.timing:
            self.note(f"time: {(time.perf_counter() - began) * 1000:,.1f} ms")

    def note(self, text: str) -> None:
        """Something that is no row."""
        for line in text.splitlines():
            self._notes.write(printable(line) + "\n")
        self._notes.flush()

    def look(self) -> TableLook:
        """How tables are drawn now."""
        return TableLook(width=self._width, max_rows=self.workspace.values.repl_max_rows, expanded=self.expanded)

    def clear(self) -> None:
        r"""Wipe a terminal between two pictures of ``\watch``."""
        if self.out.isatty():
            self.out.write("\x1b[H\x1b[2J")

    # -- help
    def _print(self, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> None:
        """Rows to the output, until it has enough."""
        sink = output(self.kind, schema, self.out, self.look())
        try:
            for batch in batches:
                if not sink.write(batch):
                    break
        finally:
            sink.close()
            self.out.flush()

    def _tail(self, question: Question) -> None:
        """Rows as they come, until LIMIT or Ctrl-C."""
        answers = tail_answer(self.workspace, question)
        schema = next(answers).schema
        sink = stream_table(schema, self.out) if self.kind == "table" else output(self.kind, schema, self.out, self.look())
        try:
            for answer in answers:
                for batch in answer.batches:
                    sink.write(batch)
                self.out.flush()
        except KeyboardInterrupt:
            self.out.write("\n" if self.out.isatty() else "")
            raise
        finally:
            answers.close()
            sink.close()
            self.out.flush()

    def _look(self, piece: Piece) -> None:
        """EXPLAIN, DESCRIBE, SHOW: over what is planned, without reading a stream."""
        if _verb(piece) != "EXPLAIN":
            answer = planned(self.workspace, piece)
            self._print(answer.schema, answer.batches)
            return
        query = next((lexeme for lexeme in piece.lexemes()[1:] if lexeme.upper not in _EXPLAIN), None)
        if query is None or query.upper not in _QUERY:
            at, width = (query.start, len(query.value)) if query else (0, len("EXPLAIN"))
            raise piece.error("EXPLAIN takes a query", at, width=width, hint="EXPLAIN SELECT ...")
        inner = Piece(piece.text[query.start :], piece.origin)
        _only_reads(inner)
        bind(self.workspace, understand(self.workspace, inner))
        answer = planned(self.workspace, piece)
        if self.kind != "table":
            self._print(answer.schema, answer.batches)
            return
        for batch in answer.batches:
            for row in batch.to_pylist():
                self._plan(row)

    def _plan(self, row: dict[str, str]) -> None:
        """A plan keeps its lines."""
        kind, plan = row["plan_type"], row["plan"]
        self.out.write("\n".join([f"-- {kind}", *(printable(line) for line in plan.rstrip().splitlines())]) + "\n")

    def _define(self, piece: Piece) -> None:
        """CREATE: add it to what can be asked for."""
        name = _defined(piece.lexemes())
        replaced = self.workspace.define(piece, name)
        self.note(f"{name or 'definition'} {'replaced' if replaced else 'created'}")
        if self.workspace.warning:
            self.note(self.workspace.warning)

    def _drop(self, piece: Piece) -> None:
        """DROP: take back what was typed."""
        name = _defined(piece.lexemes())
        if name is None:
            raise piece.error("expected DROP VIEW name or DROP TABLE name")
        self.workspace.forget(name)
        self.note(f"{name} dropped")

    def _set(self, piece: Piece) -> None:
        """SET 'key' = 'value'."""
        words = piece.lexemes()
        if [w.kind for w in words[1:]] != [Kind.STRING, Kind.SIGN, Kind.STRING] or words[2].value != "=":
            raise piece.error("expected SET 'key' = 'value'", len("SET "))
        try:
            self.workspace.set(words[1].value, words[3].value)
        except OptionError as e:
            word = words[3 if e.key in config.KEYS else 1]
            raise piece.error(e.message.replace("option", "setting", 1), word.start, width=word.end - word.start, hint=e.hint) from e

    def _width(self) -> int | None:
        """Columns of the terminal that rows go to."""
        return shutil.get_terminal_size().columns if self.out.isatty() else None

    @contextmanager
    def _bars(self) -> Iterator[Callable[[SourceTable], Moved]]:
        """Progress bars on a terminal, nothing elsewhere; they are gone before the rows come."""
        console = Console(stderr=True)
        columns = (TextColumn("reading {task.fields[table]}"), BarColumn(), TextColumn("{task.fields[rows]} records"), TimeElapsedColumn())
        progress = Progress(*columns, console=console, transient=True, disable=not (console.is_terminal and self._notes is sys.stderr))

        def bar(table: SourceTable) -> Moved:
            task = progress.add_task("", total=None, table=printable(table.name), rows="0")
            progress.start()
            most = 0

            def moved(rows: int, left: int | None) -> None:
                nonlocal most
                most = max(most, rows + (left or 0))
                progress.update(task, completed=rows, total=most if left is not None else None, rows=f"{rows:,}")
                if left == 0:
                    progress.stop()

            return moved

        try:
            yield bar
        finally:
            progress.stop()


def loaded(workspace: Workspace, path: str) -> str:
    """What a file brought, in one line or two."""
    plan = workspace.plan
    tables, views = len(plan.sources) + len(plan.statics), sum(node.is_view for node in plan.nodes)
    copies = f", {figures.count(len(plan.lanes), 'COPY').replace('COPYs', 'COPYs')} (not run here)" if plan.lanes else ""
    text = f"{path}: {figures.count(tables, 'table')}, {figures.count(views, 'view')}{copies}"
    return f"{text}\n{workspace.warning}" if workspace.warning else text


def _verb(piece: Piece) -> str:
    """The first word, in upper case."""
    lexemes = piece.lexemes()
    return lexemes[0].upper if lexemes else ""


def _defined(lexemes: list[Lexeme]) -> str | None:
    """The name behind CREATE or DROP, folded as the engine folds it."""
    for lexeme in lexemes[1:]:
        if lexeme.kind is Kind.NAME:
            return lexeme.value
        if lexeme.kind is not Kind.WORD:
            return None
        if lexeme.upper not in _FILLER:
            return fold(lexeme.value)
    return None


def _only_reads(piece: Piece) -> None:
    """Refuse a WITH that ends in a statement which writes."""
    depth = 0
    for lexeme in piece.lexemes():
        depth += {"(": 1, ")": -1}.get(lexeme.upper, 0)
        if depth == 0 and lexeme.upper in _QUERY - {"WITH", "("}:
            return
        if depth == 0 and lexeme.upper in _WRITE:
            raise piece.error(f"{lexeme.upper} is not run here: the REPL only reads", lexeme.start, width=len(lexeme.value))
