"""What can be asked for in a REPL: the definitions of pipeline files and of the prompt, planned together again after each change."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from thalweg import config
from thalweg.cli.repl.pieces import Piece
from thalweg.dialect.lexer import lex
from thalweg.dialect.script import parse
from thalweg.engine.session import Session
from thalweg.errors import PipelineError, ScriptError, ScriptErrors, UserError
from thalweg.model import options
from thalweg.model.options import redact_url
from thalweg.plan.planner import PlanRequest, make_plan
from thalweg.runtime.dag import relations

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from thalweg.config import Settings
    from thalweg.dialect.tree import Script
    from thalweg.plan.graph import Plan, SourceTable


@dataclass(frozen=True, slots=True)
class Relation:
    """Something that a query can read."""

    name: str
    kind: str
    """``stream``, ``table``, ``view``, ``raw`` or ``dead letters``."""
    about: str
    schema: pa.Schema | None


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Definitions from one place."""

    piece: Piece
    defines: str | None
    """The name that a typed statement defines: typing it again replaces it. None for a file."""

    @property
    def text(self) -> str:
        """The text with its first line filled up, so that columns stay what they were."""
        return " " * len(self.piece.before) + self.piece.text


class Workspace:
    """The plan of everything that was defined, and a session in which all of it has a name."""

    def __init__(self, settings: Mapping[str, str], environ: Mapping[str, str]) -> None:
        """Nothing is defined yet; ``settings`` are the command line's."""
        self._settings, self._environ = dict(settings), environ
        self._chunks: list[_Chunk] = []
        self._folder: Path | None = None
        self.warning: str | None = None
        """What could not be resolved at the last change, for the user to see once."""
        self.plan, self.session, self.values = self._planned(self._chunks)

    # -- changes: all or nothing
    def load(self, path: str) -> None:
        """Add a pipeline file: its tables and views can be used, its COPYs are known and never run."""
        text = read_file(path)
        folder, before = Path(path).parent, self._folder
        self._folder = self._folder or folder
        try:
            self._adopt([*self._chunks, _Chunk(Piece(text, path), None)])
        except BaseException:
            self._folder = before
            raise

    def define(self, piece: Piece, name: str | None) -> bool:
        """Add a typed CREATE; True when it replaced one of the same name."""
        kept = [c for c in self._chunks if name is None or c.defines != name]
        replaced = len(kept) < len(self._chunks)
        self._adopt([*kept, _Chunk(piece, name)])
        return replaced

    def forget(self, name: str) -> None:
        """Take back what was typed; a file's definitions stay."""
        kept = [c for c in self._chunks if c.defines != name]
        if len(kept) == len(self._chunks):
            raise UserError(f"nothing named {name} was defined here", hint="what a file defines stays as long as the file is loaded")
        self._adopt(kept)

    def set(self, key: str, value: str) -> None:
        """Change a setting; it wins over the files and the environment. Raises OptionError."""
        problems = config.check({key: value})
        if problems:
            raise problems[0]
        before = self._settings
        self._settings = {**before, key: value}
        try:
            self._adopt(self._chunks)
        except BaseException:
            self._settings = before
            raise

    # -- questions
    def relations(self) -> list[Relation]:
        """Everything a query can read, streams first."""
        plan = self.plan
        out = [Relation(t.name, "stream", f"{t.kind} {redact_url(t.location)}", t.schema) for t in plan.sources]
        out += [Relation(t.name, "table", "", t.schema) for t in plan.statics]
        out += [Relation(n.name, "view", "over " + ", ".join(n.inputs) if n.inputs else "", n.schema) for n in plan.nodes if n.is_view]
        letters: dict[str, Relation] = {}
        for table in plan.sources:
            for name, schema in relations(table, plan.settings.metadata_prefix).items():
                if name != table.name:
                    kind = "raw" if name.startswith("raw.") else "dead letters"
                    letters[name] = Relation(name, kind, "", schema)
        return out + list(letters.values())

    def source_of(self, relation: str) -> list[SourceTable]:
        """The streaming tables whose records ``relation`` shows; none for anything that is no stream itself."""
        prefix = self.plan.settings.metadata_prefix
        return [table for table in self.plan.sources if relation in relations(table, prefix)]

    # -- planning
    def _adopt(self, chunks: list[_Chunk]) -> None:
        """Plan other definitions, and keep them when they can be planned."""
        self.plan, self.session, self.values = self._planned(chunks)
        self._chunks = chunks

    def _planned(self, chunks: list[_Chunk]) -> tuple[Plan, Session, Settings]:
        """Plan definitions in a new session; a registry that does not answer leaves schemas open instead of the prompt closed."""
        text, starts = "", []
        for chunk in chunks:
            starts.append(text.count("\n"))
            text += chunk.text + ("\n" if _ends(chunk.text) else "\n;\n")
        file = chunks[0].piece.origin if chunks else "input"
        self.warning = None
        try:
            script = parse(text, file, self._environ)
            try:
                return self._made(script, connect=True)
            except PipelineError as e:
                self.warning = f"schemas stay unresolved: {e}"
                return self._made(script, connect=False)
            except ScriptErrors as e:
                if not e.unanswered:
                    raise
                self.warning = "schemas stay unresolved: " + "; ".join(f"{error.where}: {error.message}" for error in e.errors)
                return self._made(script, connect=False)
        except ScriptErrors as e:
            raise ScriptErrors([_placed(error, file, chunks, starts) for error in e.errors]) from e

    def _made(self, script: Script, *, connect: bool) -> tuple[Plan, Session, Settings]:
        """A plan, the session it was made in, and the settings."""
        folder = self._folder or Path()
        layers = config.layers(self._settings, self._environ, folder / "input")
        request = PlanRequest(layers, connect=connect, base=str(folder), need_copy=False, bounded=True)
        session = Session(threads=os.cpu_count() or 1)
        plan = make_plan(script, request, session)
        values, errors = options.read(config.Settings, {key: value for key, value in plan.settings.shown.items() if value})
        if values is None:
            raise errors[0]
        return plan, session, values


def read_file(path: str) -> str:
    """The text of a file; raises UserError."""
    try:
        return Path(path).read_bytes().decode("utf-8-sig")
    except OSError as e:
        raise UserError(f"cannot read {path}: {e.strerror}") from e
    except UnicodeDecodeError as e:
        raise UserError(f"{path} is not UTF-8: byte {e.start} cannot be read") from e


def _ends(text: str) -> bool:
    """Whether the last statement has its ``;`` already."""
    lexemes, _ = lex(text)
    return not lexemes or lexemes[-1].upper == ";"


def _placed(error: ScriptError, file: str, chunks: list[_Chunk], starts: list[int]) -> ScriptError:
    """An error in the joined text at its place in the file or input that it came from; others have the right place already."""
    at = error.location
    if at.file != file:
        return error
    index = max(i for i, start in enumerate(starts) if start < at.line)
    piece, row = chunks[index].piece, at.line - starts[index]
    text = piece.before + at.text[len(piece.before) :] if row == 1 else at.text
    place = dataclasses.replace(at, file=piece.origin, line=row + piece.line - 1, text=text)
    return ScriptError(error.message, place, hint=error.hint)
