"""Damaged queries: whatever the engine still plans is judged rightly, and whatever it does not plan crashes nothing."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from tests.corpus.queries import ROW_COUNT, cases, streams
from tests.property.test_lineage_corpus import answer, fields, judge, session
from thalweg.arrow.metadata import ROW
from thalweg.dialect.lexer import lex
from thalweg.errors import QueryFailed, QueryRefused

ENDLESS = ("RECURSIVE", "random", "now")


def shredded() -> list[list[str]]:
    """Every query of the corpus as a list of words, but for those that a wound could make run for ever or differ by chance."""
    found = [case.sql for name in ("rows", "refused", "static") for case in cases(name)]
    return [[sql[x.start : x.end] for x in lex(sql)[0]] for sql in found if not any(word in sql for word in ENDLESS)]


def wound(rnd: random.Random, pool: list[list[str]]) -> str:
    """One query with a few words deleted, doubled, swapped or taken from another query."""
    words = list(rnd.choice(pool))
    for _ in range(rnd.choice([1, 1, 1, 2])):
        at, other = rnd.randrange(len(words)), rnd.choice(pool)
        kind = rnd.randrange(4)
        if kind == 0 and len(words) > 1:
            del words[at]
        elif kind == 1:
            words.insert(at, rnd.choice(words))
        elif kind == 2:
            swap = rnd.randrange(len(words))
            words[at], words[swap] = words[swap], words[at]
        else:
            begin = rnd.randrange(len(other))
            words[at:at] = other[begin : begin + rnd.choice([1, 2, 4, 8])]
    return " ".join(words).replace(" . ", ".")


def plans(sql: str) -> bool:
    """Whether the engine plans the text as it is."""
    try:
        fields(session(hidden=False), sql)
    except QueryRefused:
        return False
    return True


def row_by_row(sql: str, *, hidden: bool) -> bool:
    """Whether a query over the batch gives what it gives over the batch's rows one by one; a failing row decides nothing."""
    try:
        whole = Counter(answer(session(hidden=hidden), sql))
        alone: Counter[tuple[str, ...]] = Counter()
        for row in range(ROW_COUNT):
            alone.update(answer(session(hidden=hidden, row=row), sql))
    except QueryFailed:
        return True
    return whole == alone


@pytest.mark.parametrize("seed", range(4))
def test_damaged_queries_are_judged_rightly(seed: int) -> None:
    """A query that is said to keep rows apart does, an opaque one runs row by row, a static one names no stream (DAG-08, DAG-21)."""
    rnd, pool = random.Random(seed), shredded()
    kept = 0
    for _ in range(600):
        sql = wound(rnd, pool)
        found = judge(sql)
        assert found.kind != "static" or not {d.name for d in found.dependencies} & streams().keys(), sql
        if found.kind not in {"rows", "opaque"} or not plans(sql):
            continue
        if found.spliced is None:
            assert row_by_row(sql, hidden=False), sql
            continue
        if not plans_with_row(found.spliced, sql):
            continue  # the planner compares the two in the same way and runs the query without lineage
        kept += 1
        assert row_by_row(found.spliced, hidden=True), sql

    assert kept > 5


def plans_with_row(spliced: str, sql: str) -> bool:
    """Whether the spliced text is the query with one column more, as the planner asks."""
    try:
        return fields(session(hidden=True), spliced) == [*fields(session(hidden=False), sql), (ROW, "int32")]
    except QueryRefused:
        return False
