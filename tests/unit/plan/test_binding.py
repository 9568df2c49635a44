"""Options to dataclasses, with prefixes and places."""

from __future__ import annotations

from dataclasses import dataclass

from thalweg import config
from thalweg.dialect.script import parse
from thalweg.dialect.tree import CreateTable, Option
from thalweg.engine.session import Session
from thalweg.model.options import integer, option, passthrough
from thalweg.plan import binding
from thalweg.plan.binding import Reader
from thalweg.plan.draft import Draft, PlanRequest


@dataclass(frozen=True, slots=True)
class Knobs:
    """Options of a test."""

    needed: str = option("needed")
    depth: int = option("depth", integer, default=1)
    more: dict[str, str] = passthrough("more.")  # noqa: RUF009 - makes a field, like option()


def draft_of(options: str) -> tuple[Draft, tuple[Option, ...]]:
    """A draft and the options of its one table."""
    script = parse(f"CREATE EXTERNAL TABLE t STORED AS X LOCATION 'y' OPTIONS ({options});", "p.sql", {})
    (table,) = script.statements
    assert isinstance(table, CreateTable)
    return Draft(script, PlanRequest(config.layers({}, {}), connect=False, base="."), Session()), table.options


def test_a_longer_prefix_wins() -> None:
    """The same option may stand plain and with the side's prefix; the nearer one counts."""
    draft, given = draft_of("'depth' '2', 'value.depth' '3', 'value.needed' 'x', 'more.a' 'b'")

    found = binding.read(draft, given, Reader(Knobs, ("", "value.")), (0, 1))

    assert (found.depth, found.needed, found.more) == (3, "x", {"a": "b"})
    assert draft.errors == []


def test_errors_stand_at_the_option_that_was_given() -> None:
    """A value that does not fit is placed at the prefixed option, a missing one at the statement."""
    draft, given = draft_of("'value.depth' 'deep'")

    assert binding.read(draft, given, Reader(Knobs, ("", "value.")), (22, 1)) is None
    assert [(e.location.column, e.message.split(":")[0]) for e in draft.errors] == [(23, "option 'needed' is missing"), (73, "option 'depth'")]


def test_unknown_options_are_those_that_nobody_reads() -> None:
    """Every reader's keys and prefixes count; what is judged elsewhere is left alone."""
    draft, given = draft_of("'dept' '1', 'more.x' '1', 'json.y' '1', 'key.depth' '1', 'DEPTH' '1'")

    assert binding.refuse_unknown(draft, given, [Reader(Knobs)], also=("json.",))
    assert [(e.message, e.hint) for e in draft.errors] == [
        ("unknown option 'dept'", "did you mean 'depth'?"),
        ("unknown option 'key.depth'", "did you mean 'depth'?"),
        ("unknown option 'DEPTH'", "did you mean 'depth'?"),
    ]


def test_a_plugins_complaint_finds_its_option() -> None:
    """A message goes to the last option that it names in quotes, else to where the caller says."""
    draft, given = draft_of("'depth' '1', 'needed' 'x'")

    assert not binding.complain(draft, given, ["'depth' and 'needed' do not go together", "the rest is wrong"], (7, 8))
    assert [(e.location.column, e.location.width) for e in draft.errors] == [(72, 8), (8, 8)]
    assert binding.complain(draft, given, [], (0, 1))
