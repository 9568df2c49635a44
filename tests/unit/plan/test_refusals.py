"""The engine's messages at their places."""

from __future__ import annotations

import pytest

from thalweg.plan.refusals import place

NO_PLAN = "Physical plan does not support logical expression"


@pytest.mark.parametrize(
    ("message", "sql", "offset", "width", "said", "hint"),
    [
        (
            "No field named amuont. Did you mean 'orders.amount'?\nValid fields are orders.amount.",
            "SELECT 'amuont', -- amuont\n amuont FROM orders", 28, 6, "no column named amuont", "did you mean amount?",
        ),
        ('No field named o."Foo".\nValid fields are o.a, o."B".', 'SELECT o . "Foo" FROM t o', 7, 9, "no column named o.Foo", 'columns: a, "B"'),
        ("No field named o.zzz.", "SELECT (o).zzz FROM t o", 11, 3, "no column named o.zzz", None),
        (
            "No field named userid. Did you mean 'userId'?\nColumn names are case sensitive.\nValid fields are t.\"userId\".",
            "SELECT userId FROM t", 7, 6, "no column named userid", 'did you mean "userId"? without quotes a name is folded to lower case',
        ),
        (
            "No field named nam.\nValid fields are t.name, t.b.", "SELECT nam FROM t", 7, 3, "no column named nam", "did you mean name?",
        ),
        ("Invalid function 'uper'.\nDid you mean 'upper'?", "SELECT a, uper(b)", 10, 4, "no function named uper", "did you mean upper?"),
        ("Invalid function 'qq'.", "SELECT qq(b)", 7, 2, "no function named qq", "twg repl: \\df lists all functions"),
        (
            "Ambiguous reference to unqualified field Id", "SELECT Id FROM a JOIN b ON true", 7, 2,
            "column Id is ambiguous: more than one relation has it", 'write which: relation."Id"',
        ),
        (
            'Projections require unique expression names but the expression "a AS x" at position 0 and "b AS x" at position 1 have the same name.',
            "SELECT a AS x, b AS x FROM t", 20, 1, "the query gives more than one column the name x", "give each its own name with AS",
        ),
        ("Field cuntry not found in struct", "SELECT c['cuntry'] FROM t", 9, 8, "no field named cuntry in the struct", None),
        ("This feature is not implemented: Unsupported SQL type FOO", "SELECT CAST(a AS FOO)", 17, 3, "Unsupported SQL type FOO", None),
        ("table 'datafusion.public.t' not found", "SELECT 1 FROM T", 14, 1, "no table or view named t", None),
        (
            'ParserError("Expected: end of statement, found: > at Line: 2, Column: 3")', "SELECT 1\nx > y", 11, 1,
            "expected: end of statement, found: >", None,
        ),
        ('ParserError("Expected: an expression, found: EOF")', " SELECT", 1, 6, "expected: an expression, found: EOF", None),
        ('ParserError("Expected: end")', "SELECT a FROM WHERE b", 14, 5, "expected a table or view after FROM, found WHERE", None),
        ("'concat' does not support zero arguments.\nCandidate functions: x", "SELECT concat()", 7, 6, "'concat' does not support zero arguments.", None),
        (
            f'{NO_PLAN} OuterReferenceColumn(Field {{ name: "items" }}, Column {{ relation: Some(Bare {{ table: "o" }}), name: "items" }})', "SELECT id, x FROM o, UNNEST(items) u(x)", 28, 5,
            "the engine has no plan for a function or subquery that reads items of the row beside it", "write SELECT unnest(items) in place of the join",
        ),
        (
            f"{NO_PLAN} InSubquery(InSubquery {{ negated: false }})", "SELECT 1", 0, 6,
            "the engine has no plan for this subquery, which reads the row beside it", "write it as a join",
        ),
        (
            f"{NO_PLAN} Wildcard", "SELECT 1", 0, 6, f"{NO_PLAN} Wildcard", None,
        ),
        ("something else", "  (SELECT 1)", 3, 6, "something else", None),
        ("something else", "", 0, 1, "something else", None),
    ],
)  # fmt: skip
def test_each_message_has_its_place(message: str, sql: str, offset: int, width: int, said: str, hint: str | None) -> None:
    """The word that a message speaks of is found outside of strings and comments, in any case and with its quotes (DAG-17, SQ-05)."""
    found = place(message, sql)

    assert (found.message, found.offset, found.width, found.hint) == (said, offset, width, hint)
