"""A SELECT in a REPL: over files directly, over a stream up to now (snapshot), or over what comes (tail). Nothing is ever committed."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from thalweg import compose
from thalweg.dialect import lineage
from thalweg.dialect.names import did_you_mean
from thalweg.engine.session import failed, quoted
from thalweg.errors import QueryRefused, UserError
from thalweg.model.events import Fanout
from thalweg.plan import refusals
from thalweg.runtime.snapshot import Counts, Look, from_now_on, up_to_now
from thalweg.runtime.upgrade import Upgrade

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

    import pyarrow as pa

    from thalweg.cli.repl.pieces import Piece
    from thalweg.cli.repl.workspace import Workspace
    from thalweg.plan.graph import Node, SourceTable
    from thalweg.runtime.snapshot import Progress, Stored


_UNKNOWN: Final = "no table or view named "


@dataclass(frozen=True, slots=True)
class Question:
    """A query and everything it hangs on."""

    piece: Piece
    bases: tuple[str, ...]
    """Stream relations (``orders``, ``raw.orders``, ``dlq.all``) at any distance."""
    tables: tuple[SourceTable, ...]
    """The streaming tables behind them."""
    views: tuple[Node, ...]
    """Views on the way, in the order in which they can be bound."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Rows on their way, and their schema."""

    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]


Notes = dict[str, Counts]
"""What was seen of each streaming table on the way."""


def understand(workspace: Workspace, piece: Piece) -> Question:
    """Find out what a query reads."""
    plan = workspace.plan
    names = _reads(workspace, piece)
    views: dict[str, Node] = {}
    bases: list[str] = []

    def visit(name: str) -> None:
        node = plan.node_named(name)
        if node is None:
            if workspace.source_of(name) and name not in bases:
                bases.append(name)
        elif name not in views:
            for inner in node.inputs:
                visit(inner)
            views[name] = node

    for name in names:
        visit(name)
    tables = [table for table in plan.sources if any(table in workspace.source_of(base) for base in bases)]
    return Question(piece, tuple(bases), tuple(tables), tuple(views.values()))


@contextmanager
def up_to_now_answer(workspace: Workspace, question: Question, progress: Callable[[SourceTable], Progress], notes: Notes) -> Iterator[Answer]:
    """Answer over everything that streams hold now; the answer's batches are good inside of the ``with`` only.

    A question that cannot be planned is refused before a stream is read.
    """
    session = workspace.session
    _all_resolved(workspace, question)
    bind(workspace, question)
    _schema(workspace, question.piece, question.piece.text)
    with tempfile.TemporaryDirectory(prefix="twg-snapshot-") as folder:
        stored: dict[str, Stored] = {}
        try:
            for table in question.tables:
                for relation in _stored(workspace, question, table, Path(folder), progress(table), notes):
                    stored[relation.name] = relation
            for relation in stored.values():
                session.drop(relation.name)
                session.create_static(relation.statement(quoted(relation.name)), relation.name)
            bind(workspace, question)
            yield planned(workspace, question.piece)
        finally:
            for name in stored:
                _emptied(workspace, name)


def planned(workspace: Workspace, piece: Piece) -> Answer:
    """Plan a query over what is registered now; raises the engine's refusal at the place that it speaks of."""
    try:
        reader = workspace.session.stream(piece.text)
    except QueryRefused as e:
        raise _refused(workspace, piece, e) from e
    return Answer(reader.schema, _batches(reader))


def bind(workspace: Workspace, question: Question) -> None:
    """Give every view on the way its query, over what is registered now."""
    for view in question.views:
        workspace.session.bind(view.name, view.sql)


def tail_answer(workspace: Workspace, question: Question) -> Generator[Answer, None, None]:
    """Answer over each batch that comes, without end; an answer without rows comes now and then. Raises UserError for what a stream cannot answer."""
    _all_resolved(workspace, question)
    sql, limit = _tailed(workspace, question)
    schema = _schema(workspace, question.piece, sql)
    yield Answer(schema, iter(()))
    left = limit
    with ExitStack() as stack:
        looks = [stack.enter_context(_look(workspace, from_now_on(t, start=workspace.values.repl_tail_from))) for t in question.tables]
        streams = [look.batches(question.bases) for look in looks]
        stack.callback(_all_emptied, workspace, question.bases)
        while streams and left != 0:
            for stream in streams:
                rows = _over(workspace, question, next(stream, {}), sql)
                if left is not None:
                    rows, left = _first(rows, left)
                yield Answer(schema, iter(rows))


def _reads(workspace: Workspace, piece: Piece) -> list[str]:
    """The relations that a query names; where it cannot be analysed, every relation whose name is one of its words."""
    found = lineage.analyse(piece.text, (), ())
    if found.kind != "error":
        return [d.name for d in found.dependencies]
    words = {lexeme.value.lower() for lexeme in piece.lexemes()}
    return [r.name for r in workspace.relations() if all(part.lower() in words for part in r.name.split(".", 1))]


def _stored(workspace: Workspace, question: Question, table: SourceTable, folder: Path, progress: Progress, notes: Notes) -> list[Stored]:
    """Read one table up to now; all tables of a question share one limit."""
    wanted = [base for base in question.bases if table in workspace.source_of(base)]
    limit = workspace.values.repl_snapshot_bytes - sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    with _look(workspace, up_to_now(table)) as look:
        notes[table.name] = look.counts
        return look.store(wanted, folder, limit, progress)


def _all_resolved(workspace: Workspace, question: Question) -> None:
    """Refuse a question over a table whose columns lie in a registry that gave no answer."""
    for table in question.tables:
        if table.schema is None:
            refused = UserError(f"the schema of {table.name} is not resolved", hint=workspace.warning or "its registry was not asked")
            refused.unanswered = True
            raise refused


def _look(workspace: Workspace, table: SourceTable) -> Look:
    """A source of its own for one question."""
    source, decoding = compose.open_source(workspace.plan, table, Fanout(), group=False)
    settings = workspace.plan.settings
    upgrade = Upgrade([decoding], Fanout()) if settings.kernels else None
    return Look(table, source, decoding, upgrade, prefix=settings.metadata_prefix, pipeline=settings.name)


def _over(workspace: Workspace, question: Question, tables: Mapping[str, pa.RecordBatch], sql: str) -> list[pa.RecordBatch]:
    """The query over one batch."""
    if not any(batch.num_rows for batch in tables.values()):
        return []
    for base in question.bases:
        if base in tables:
            workspace.session.put(base, [tables[base]], tables[base].schema)
        else:
            _emptied(workspace, base)
    bind(workspace, question)
    return workspace.session.run(sql)


def _all_emptied(workspace: Workspace, bases: Sequence[str]) -> None:
    """Leave nothing of the last batches behind."""
    for base in bases:
        _emptied(workspace, base)


def _emptied(workspace: Workspace, base: str) -> None:
    """A relation as it was planned: known, and without rows."""
    for relation in workspace.relations():
        if relation.name == base and relation.schema is not None:
            workspace.session.declare(base, relation.schema)


def _tailed(workspace: Workspace, question: Question) -> tuple[str, int | None]:
    """The query without its LIMIT, and the limit; a LIMIT counts over all batches."""
    piece = question.piece
    if not question.tables:
        raise UserError("there is no stream in this query, so there is no tail of it", hint="run it in snapshot mode: SET 'repl.mode' = 'snapshot'")
    sql, limit = piece.text, None
    lexemes = piece.lexemes()
    if len(lexemes) > 1 and lexemes[-2].upper == "LIMIT" and lexemes[-1].value.isdecimal():
        sql, limit = piece.text[: lexemes[-2].start].rstrip(), int(lexemes[-1].value)
    aggregates = {name for name, kind, _ in workspace.session.functions() if kind == "AGGREGATE"}
    streaming = [*question.bases, *(view.name for view in question.views if view.sources)]
    for text, view in [*((v.sql, v) for v in question.views), (sql, None)]:
        found = lineage.analyse(text, streaming, aggregates)
        if found.kind == "refused" and view is None:
            raise piece.error(found.reason or "not possible on a stream", found.offset or 0, hint="in snapshot mode all of SQL is allowed")
        if found.kind == "refused" and view is not None:
            raise UserError(f"view {view.name} cannot be tailed: {found.reason}", hint="in snapshot mode all of SQL is allowed")
    return sql, limit


def _schema(workspace: Workspace, piece: Piece, sql: str) -> pa.Schema:
    """The schema of a query; what the engine refuses is shown at its place."""
    try:
        schema = workspace.session.schema_of(sql)
        workspace.session.plan(sql)
    except QueryRefused as e:
        raise _refused(workspace, piece, e) from e
    return schema


def _refused(workspace: Workspace, piece: Piece, error: QueryRefused) -> UserError:
    """The engine's message under the word it speaks of; what is unbalanced or unterminated is better found by reading the text."""
    read = lineage.analyse(piece.text, (), ())
    if read.kind == "error" and read.reason is not None:
        return piece.error(read.reason, read.offset or 0, hint=read.hint)
    found = refusals.place(error.message, piece.text)
    if found.message.endswith("found: EOF"):
        return piece.error(found.message.replace("found: EOF", "found the end"), len(piece.text), hint=found.hint)
    hint = found.hint or error.hint
    if hint is None and found.message.startswith(_UNKNOWN):
        hint = did_you_mean(found.message.removeprefix(_UNKNOWN), [r.name for r in workspace.relations()]) or "\\d lists all of them"
    return piece.error(found.message, found.offset, width=found.width, hint=hint)


def _batches(reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    """Batches as they come; errors as ours."""
    while True:
        try:
            batch = reader.read_next_batch()
        except StopIteration:
            return
        except BaseException as e:
            raise failed(e) from e
        if batch.num_rows:
            yield batch


def _first(batches: list[pa.RecordBatch], rows: int) -> tuple[list[pa.RecordBatch], int]:
    """The first ``rows`` rows, and how many are still wanted after them."""
    out = []
    for batch in batches:
        if rows <= 0:
            break
        out.append(batch.slice(0, rows))
        rows -= out[-1].num_rows
    return out, rows
