"""Hints and lists."""

from __future__ import annotations

from thalweg import config
from thalweg.dialect.script import parse
from thalweg.engine.session import Session
from thalweg.plan.draft import Draft, PlanRequest, listed, nearest


def test_lists_are_cut() -> None:
    """A long list says how much is left out."""
    assert listed(["a", "b"]) == "a, b"
    assert listed([str(i) for i in range(5)], 3) == "0, 1, 2 and 2 more"


def test_the_nearest_word_or_nothing() -> None:
    """A word that is near to none gets no suggestion."""
    assert nearest("ordres", ["orders", "lines"]) == "did you mean 'orders'?"
    assert nearest("ORDERS", ["Orders", "lines"]) == "did you mean 'Orders'?"
    assert nearest("zzz", ["orders"]) is None


def test_lanes_of_a_broken_table_are_broken() -> None:
    """Nobody is told about a lane of a table that has an error of its own; the prefix has a default before the settings are known."""
    draft = Draft(parse("CREATE EXTERNAL TABLE t;", "p.sql", {}), PlanRequest(config.layers({}, {}), connect=False, base="."), Session())
    draft.broken.add("orders")

    assert [draft.is_broken(name) for name in ("orders", "raw.orders", "dlq.t", "lines", "x.orders")] == [True, True, True, False, False]
    assert draft.prefix == "_twg_"
    assert draft.unknown("x") == "the file defines no table or view"
