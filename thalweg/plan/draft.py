"""What the rules pass on to each other while a script becomes a plan."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    import pyarrow as pa

    from thalweg.config import Layers, Settings
    from thalweg.dialect.lineage import Lineage
    from thalweg.dialect.tree import Copy, CreateTable, Fragment, Script
    from thalweg.engine.session import Session
    from thalweg.errors import ScriptError
    from thalweg.plan.graph import Lane, Node, PipelineSettings, SourceTable, StaticTable


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What a caller wants from the planner."""

    layers: Layers
    """Settings around the file's own."""
    connect: bool
    """Whether registries may be asked; without it what lies in one stays unresolved."""
    base: str
    """Folder of the pipeline file. What is read (schema files, static tables) is looked for there, then in the current directory; what is
    written is relative to the current directory, so that a packaged pipeline never writes beside itself."""
    need_copy: bool = True
    """Whether a file without any COPY is refused; a REPL takes one."""
    bounded: bool = False
    """Whether everything is read up to now only, as in a REPL: all of SQL can be answered, and dead letters need no target."""


@dataclass(frozen=True, slots=True)
class Relation:
    """Something that a query can read."""

    name: str
    """Qualified."""
    role: str
    """``source``, ``static``, ``view``, ``raw`` or ``dlq``."""
    sources: tuple[str, ...]
    """Source tables it hangs on; empty: it is static."""
    schema: pa.Schema | None
    carries_rows: bool
    """Whether the hidden row column comes with it."""
    after_errors: bool = False


@dataclass(slots=True)
class Query:
    """One query of the file on its way to a node."""

    name: str
    fragment: Fragment
    is_view: bool
    at: int
    """Offset that stands for the statement as a whole."""
    copy: Copy | None = None
    lineage: Lineage | None = None


@dataclass(slots=True)
class Draft:
    """The script, what was found out about it so far, and every error."""

    script: Script
    request: PlanRequest
    session: Session
    errors: list[ScriptError] = field(default_factory=list)
    broken: set[str] = field(default_factory=set)
    """Names whose definition has an error of its own: what hangs on them is not judged."""
    values: Settings | None = None
    settings: PipelineSettings | None = None
    tables: list[CreateTable] = field(default_factory=list)
    """Streaming tables whose names are their own."""
    static_tables: list[CreateTable] = field(default_factory=list)
    queries: dict[str, Query] = field(default_factory=dict)
    """Views, then the queries of COPYs, by name; the rule ``order`` sorts them."""
    targets: list[tuple[Copy, str]] = field(default_factory=list)
    """Each COPY with the relation it carries."""
    names: dict[str, int] = field(default_factory=dict)
    """Every relation that the file defines, by qualified name, and the offset of its definition."""
    streaming: set[str] = field(default_factory=set)
    """Every relation that hangs on a stream, also where it has an error of its own."""
    relations: dict[str, Relation] = field(default_factory=dict)
    sources: list[SourceTable] = field(default_factory=list)
    statics: list[StaticTable] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    lanes: list[Lane] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def fail(self, message: str, offset: int, width: int = 1, hint: str | None = None) -> None:
        """Note an error at an offset into the script's text."""
        self.errors.append(self.script.source.error(message, offset, width=width, hint=hint))

    def is_broken(self, name: str) -> bool:
        """Whether ``name``, or the table behind a lane of it, has an error of its own."""
        head, _, tail = name.partition(".")
        known = self.broken | self.script.broken
        return name in known or (bool(tail) and head in {"raw", "dlq"} and tail in known)

    def unknown(self, name: str) -> str | None:
        """The hint for a relation that does not exist: the nearest one, or all there are; lanes only where a lane was meant."""
        known = [n for n in (*self.names, *self.relations) if ("." in n) == ("." in name)]
        near = nearest(name, known) or nearest(name, list(self.relations))
        everything = listed([n for n in dict.fromkeys((*self.names, *self.relations)) if "." not in n])
        return near or (f"there are: {everything}" if everything else "the file defines no table or view")

    @property
    def prefix(self) -> str:
        """Prefix of the metadata columns."""
        return self.settings.metadata_prefix if self.settings is not None else "_twg_"


def nearest(word: str, known: Collection[str]) -> str | None:
    """``did you mean 'x'?``, or None; upper and lower case are one."""
    folded = {name.lower(): name for name in known}
    near = difflib.get_close_matches(word.lower(), folded, n=1)
    return f"did you mean '{folded[near[0]]}'?" if near else None


def listed(words: Collection[str], limit: int = 12) -> str:
    """``a, b, c``, cut after ``limit``."""
    shown = list(words)
    return ", ".join(shown[:limit]) + (f" and {len(shown) - limit} more" if len(shown) > limit else "")
