"""A whole file: its statements, all of its errors in one pass, and damaged copies of a good one."""

from __future__ import annotations

import random
from collections.abc import Mapping  # noqa: TC003 - used in a signature that hypothesis may read

import pytest

from thalweg.dialect.lexer import lex
from thalweg.dialect.script import parse
from thalweg.dialect.tree import ColumnDef, Copy, CreateFunction, CreateTable, CreateView, Expectation, Fragment, Script, SetOption

GOOD = """\
-- an example; a comment with ; and 'quotes
SET 'pipeline.name' = 'orders; v1';

CREATE UNBOUNDED EXTERNAL TABLE orders (
  id BIGINT NOT NULL,
  "Amount" DECIMAL(10, 2),
  tags VARCHAR[],
  customer ROW<id BIGINT, address ROW<city STRING, zip CHAR(5)>>,
  lines ARRAY<ROW<sku STRING, qty INT>>,
  attrs MAP<STRING, ARRAY<DOUBLE PRECISION>>,
  ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' NOT NULL,
  at TIMESTAMP(9) WITH LOCAL TIME ZONE,
  offset BIGINT METADATA,
  CONSTRAINT positive EXPECT ("Amount" > 0 AND id IN (1, 2)) ON VIOLATION QUARANTINE,
  CONSTRAINT named EXPECT (id IS NOT NULL)
) STORED AS kafka LOCATION 'kafka://broker/orders'
  OPTIONS ('format' 'json', 'note' 'a,b)', 'empty' '');

CREATE EXTERNAL TABLE IF NOT EXISTS dim STORED AS PARQUET LOCATION 's3://b/dim/' PARTITIONED BY (day DATE, hour) WITH ORDER (k ASC);

CREATE OR REPLACE FUNCTION score(a BIGINT, b VARCHAR) RETURNS DOUBLE LANGUAGE WASM AS 'score.wasm';
CREATE FUNCTION one() RETURNS INT LANGUAGE python AS 'one.py';

CREATE VIEW big (CONSTRAINT labelled EXPECT (label IS NOT NULL) ON VIOLATION DROP ROW) AS
WITH c AS (SELECT id, unnest(lines) AS item FROM orders)
SELECT c.id, d.label, item['sku'] AS sku, ';' AS semi -- keep ; this
FROM c JOIN dim AS d ON d.k = c.id;
create or replace view Plain as (select 1);

COPY big TO 's3://b/out' STORED AS PARQUET PARTITIONED BY (label, "Day") OPTIONS ('compression' 'zstd');
COPY raw.orders TO './raw/' STORED AS parquet;
COPY (SELECT id, ts FROM orders WHERE ts > '2020-01-01') TO 'file:///x' STORED AS CSV
"""


def read(text: str, environ: Mapping[str, str] | None = None) -> Script:
    """Parse with an environment of its own."""
    return parse(text, "f.sql", environ or {})


def errors(text: str, environ: Mapping[str, str] | None = None) -> list[str]:
    """Every error as ``line:column message``."""
    return [f"{e.location.line}:{e.location.column} {e.message}" for e in read(text, environ).errors]


def fragments(script: Script) -> list[Fragment]:
    """Every run of the file that is kept verbatim."""
    found: list[Fragment | None] = []
    for statement in script.statements:
        if isinstance(statement, CreateTable):
            found += [column.type for column in statement.columns] + [e.expr for e in statement.expectations]
        elif isinstance(statement, CreateView):
            found += [statement.query, *(e.expr for e in statement.expectations)]
        elif isinstance(statement, CreateFunction):
            found += [statement.arguments, statement.returns]
        elif isinstance(statement, Copy):
            found.append(statement.query)
    return [fragment for fragment in found if fragment is not None]


def test_good_script() -> None:
    """Every statement of the language is read, in order, with its own span (CRD-05)."""
    script = read(GOOD)

    assert script.errors == ()
    assert script.broken == frozenset()
    assert [type(s).__name__ for s in script.statements] == [
        "SetOption", "CreateTable", "CreateTable", "CreateFunction", "CreateFunction", "CreateView", "CreateView", "Copy", "Copy", "Copy",
    ]  # fmt: skip
    for statement in script.statements:
        text = GOOD[statement.start : statement.end]
        assert text.split(" ", 1)[0].upper() in {"SET", "CREATE", "COPY"}
        assert not text.endswith(";")


def test_everything_embedded_stays_verbatim() -> None:
    """Queries, expressions and types are the file's own text (CRD-05)."""
    found = fragments(read(GOOD))

    assert [GOOD[f.start : f.end] for f in found] == [f.text for f in found]
    assert "WITH c AS (SELECT id, unnest(lines) AS item FROM orders)" in found[-4].text
    assert found[-4].text.endswith("d.k = c.id")
    assert "-- keep ; this" in found[-4].text


def test_create_table() -> None:
    """Columns with types, metadata and NOT NULL, expectations, options and the bare statement."""
    table = next(s for s in read(GOOD).statements if isinstance(s, CreateTable))

    assert (str(table.name), table.unbounded, table.stored_as.value, table.location.value) == ("orders", True, "KAFKA", "kafka://broker/orders")
    assert [(c.name, c.type.text, c.metadata and c.metadata.value, c.not_null) for c in table.columns] == [
        ("id", "BIGINT", None, True),
        ("Amount", "DECIMAL(10, 2)", None, False),
        ("tags", "VARCHAR[]", None, False),
        ("customer", "ROW<id BIGINT, address ROW<city STRING, zip CHAR(5)>>", None, False),
        ("lines", "ARRAY<ROW<sku STRING, qty INT>>", None, False),
        ("attrs", "MAP<STRING, ARRAY<DOUBLE PRECISION>>", None, False),
        ("ts", "TIMESTAMP_LTZ(3)", "timestamp", True),
        ("at", "TIMESTAMP(9) WITH LOCAL TIME ZONE", None, False),
        ("offset", "BIGINT", "offset", False),
    ]
    assert [(e.name, e.expr.text, e.action) for e in table.expectations] == [
        ("positive", '"Amount" > 0 AND id IN (1, 2)', "QUARANTINE"),
        ("named", "id IS NOT NULL", "WARN"),
    ]
    assert [(o.key, o.value) for o in table.options] == [("format", "json"), ("note", "a,b)"), ("empty", "")]
    assert [GOOD[o.start] + GOOD[o.value_start] for o in table.options] == ["''"] * 3
    assert table.bare.startswith("CREATE UNBOUNDED EXTERNAL TABLE orders STORED AS kafka LOCATION")
    assert table.bare.endswith("'empty' '')")


def test_static_table() -> None:
    """Partition columns may have types, and clauses that only DataFusion reads stay in the statement it gets."""
    table = [s for s in read(GOOD).statements if isinstance(s, CreateTable)][1]

    assert (str(table.name), table.columns, table.unbounded) == ("dim", (), False)
    assert [str(name) for name in table.partitioned_by] == ["day", "hour"]
    assert table.bare == GOOD[table.start : table.end]


def test_view_function_copy_and_set() -> None:
    """The other statements have their parts."""
    statements = read(GOOD).statements
    name = next(s for s in statements if isinstance(s, SetOption))
    score, one = [s for s in statements if isinstance(s, CreateFunction)]
    big, plain = [s for s in statements if isinstance(s, CreateView)]
    view, raw, query = [s for s in statements if isinstance(s, Copy)]

    assert (name.key.value, name.value.value) == ("pipeline.name", "orders; v1")
    assert score.arguments is not None
    assert score.returns is not None
    assert (score.arguments.text, score.returns.text, score.language.value, score.body.value) == (
        "a BIGINT, b VARCHAR", "DOUBLE", "WASM", "score.wasm",
    )  # fmt: skip
    assert (one.arguments, one.language.value) == (None, "PYTHON")
    assert [(e.name, e.action) for e in big.expectations] == [("labelled", "DROP ROW")]
    assert (str(plain.name), plain.query.text) == ("plain", "(select 1)")
    assert (str(view.relation), view.query, view.target.value) == ("big", None, "s3://b/out")
    assert [n.parts for n in view.partitioned_by] == [("label",), ("Day",)]
    assert (str(raw.relation), raw.stored_as and raw.stored_as.value) == ("raw.orders", "PARQUET")
    assert query.relation is None
    assert query.query is not None
    assert query.query.text == "SELECT id, ts FROM orders WHERE ts > '2020-01-01'"


@pytest.mark.parametrize("change", [str, lambda t: t.replace("\n", "\r\n"), lambda t: "\ufeff" + t, lambda t: t.replace("  ", "\t")])
def test_line_ends_marks_and_tabs(change: object) -> None:
    """CRLF, a byte order mark and tabs change neither the statements nor where errors are (CF-06)."""
    text = change(GOOD)  # type: ignore[operator]
    script = read(text)

    assert script.errors == ()
    assert len(script.statements) == 10
    bad = change(GOOD.replace("CREATE VIEW big", "CREATE VEIW big"))  # type: ignore[operator]
    assert errors(bad) == ["24:8 expected VIEW, found VEIW"]


def test_all_errors_in_one_pass() -> None:
    """Every statement with an error is reported, none of them twice, sorted by place; the good ones remain (DAG-16)."""
    text = """\
SET 'pipeline.name' 'x';
CREATE EXTERNAL TABLE t (
  id,
  a DECIMAL(10, 2) METADATA FROM timestamp,
  CONSTRAINT c EXPECT (a > 0 ON VIOLATION FAIL,
  CONSTRAINT d EXPECT (a > 0) ON VIOLATION EXPLODE,
  b INT BIGINT,
) STORED PARQUET LOCATION here
  OPTIONS ('a' 'b', 'c', 'a' 'd', 'e' = 'f');
CREATE VIEW v AS SELECT f(a FROM t;
COPY v TO s3://bucket STORED AS PARQUET;
SET 'good' = 'yes';
COPY w 's3://bucket/w' STORED AS PARQUET;
"""
    script = read(text)

    assert errors(text) == [
        "1:21 expected = after 'pipeline.name', found 'x'",
        "3:5 expected the type of column id, found ,",
        "4:34 expected the metadata key in single quotes, found timestamp",
        "5:23 this ( has no closing ) behind the condition",
        "6:44 expected FAIL, DROP ROW, QUARANTINE or ANNOTATE after ON VIOLATION, found EXPLODE",
        "7:9 expected METADATA FROM, NOT NULL, a comma or ) in the column list, found BIGINT",
        "8:1 expected another entry after the , in the column list, found )",
        "8:10 expected STORED AS, found PARQUET",
        "8:27 expected the location in single quotes, found here",
        "9:24 expected the value of 'c' in single quotes, found ,",
        "9:26 option 'a' is given twice",
        "9:39 expected the value of 'e', found =",
        "10:26 this ( has no closing ) in the query",
        "11:11 expected the url of the target in single quotes, found s3",
        "13:8 expected TO 'url', found 's3://bucket/w'",
    ]
    assert [type(s) for s in script.statements] == [SetOption]
    assert script.broken == {"t", "v"}


@pytest.mark.parametrize(
    ("text", "expected", "hint"),
    [
        ("CRAETE VIEW v AS SELECT 1;", "1:1 expected CREATE, found CRAETE", "did you mean CREATE?"),
        ("CREATE VEIW v AS SELECT 1;", "1:8 expected VIEW, found VEIW", "did you mean VIEW?"),
        ("CREATE EXTERNAL TABEL t STORED AS CSV LOCATION 'x';", "1:17 expected TABLE, found TABEL", "did you mean TABLE?"),
        ("CREATE FUNCTON f() RETURNS INT LANGUAGE WASM AS 'x';", "1:8 expected FUNCTION, found FUNCTON", "did you mean FUNCTION?"),
        ("CREATE EXTERNAL TABLE t STORED AZ CSV LOCATION 'x';", "1:32 expected STORED AS, found AZ", None),
        ("CREATE EXTERNAL TABLE t STORED AS CSV LOCATON 'x';", "1:39 expected LOCATION, found LOCATON", "did you mean LOCATION?"),
        ("CREATE EXTERNAL TABLE t (a INT NOT NUL) STORED AS CSV LOCATION 'x';", "1:36 expected NULL, found NUL", "did you mean NULL?"),
        ("CREATE EXTERNAL TABLE t (a INT METDATA) STORED AS CSV LOCATION 'x';", "1:32 expected METADATA, found METDATA", "did you mean METADATA?"),
        ("CREATE VIEW v AS SELCT 1;", "1:18 expected a SELECT, found SELCT", "did you mean SELECT?"),
        ("COPPY v TO 'x' STORED AS CSV;", "1:1 expected COPY, found COPPY", "did you mean COPY?"),
        ("COPY v TO 'x' STORED AS CSV OPTION ('a' 'b');", "1:29 expected OPTIONS, found OPTION", "did you mean OPTIONS?"),
        ("SETT 'a' = 'b';", "1:1 expected SET, found SETT", "did you mean SET?"),
    ],
)
def test_misspelt_words(text: str, expected: str, hint: str | None) -> None:
    """A misspelt word is one error, at the word, with what it was probably meant to be; the rest is read on."""
    found = read(text).errors

    assert errors(text) == [expected]
    assert hint is None or found[0].hint == hint


@pytest.mark.parametrize(
    ("text", "expected", "hint"),
    [
        ("CREATE TABLE t (a INT) WITH ('connector' = 'kafka');", "1:8", "CREATE EXTERNAL TABLE name"),
        ("INSERT INTO x SELECT 1;", "1:1", "COPY relation TO 'url'"),
        ("SELECT 1;", "1:1", "COPY (SELECT ...) TO 'url'"),
        ("with a as (select 1) select * from a;", "1:1", "COPY (WITH ...) TO 'url'"),
        ("CREATE MATERIALIZED VIEW v AS SELECT 1;", "1:8", "CREATE VIEW name AS SELECT"),
        ("CREATE SOURCE s WITH (a = 'b');", "1:8", "CREATE EXTERNAL TABLE name"),
        ("CREATE SINK s FROM v;", "1:8", "COPY relation TO 'url'"),
        ("CREATE TEMPORARY VIEW v AS SELECT 1;", "1:8", "leave TEMPORARY out"),
        ("DROP TABLE x;", "1:1", "nothing to change or remove"),
        ("SHOW TABLES;", "1:1", "twg repl"),
        ("EXPLAIN SELECT 1;", "1:1", "twg check"),
        ("COPY SELECT 1 TO 'x' STORED AS CSV;", "1:6", "COPY (SELECT ...) TO 'url'"),
        ("CREATE EXTERNAL TABLE t STORED AS CSV LOCATION 'x' WITH ('a' = 'b');", "1:52", "OPTIONS ('key' 'value', ...)"),
        ("CREATE EXTERNAL TABLE t STORED AS CSV LOCATION 'x' AS SELECT 1;", "1:52", "CREATE VIEW name AS SELECT"),
        ("CREATE EXTERNAL TABLE t (a INT, PRIMARY KEY (a)) STORED AS CSV LOCATION 'x';", "1:33", "a source has no keys"),
        ("CREATE EXTERNAL TABLE t (a AS b * 2) STORED AS CSV LOCATION 'x';", "1:28", "computed columns belong into a view"),
        ("CREATE EXTERNAL TABLE t (a INT DEFAULT 1) STORED AS CSV LOCATION 'x';", "1:32", "coalesce"),
        ("CREATE EXTERNAL TABLE t (WATERMARK FOR a AS b) STORED AS CSV LOCATION 'x';", "1:26", "a later build"),
        ("CREATE VIEW v (a, b) AS SELECT 1;", "1:16", "a view's columns are named in its query"),
        ("SET a.b = 'c';", "1:5", "single quotes: 'a'"),
        ('COPY v TO "x" STORED AS CSV;', "1:11", "single quotes: 'x'"),
        ("COPY v TO 'x' STORED AS CSV OPTIONS ('a' = 'b');", "1:42", "without ="),
        ("CREATE EXTERNAL TABLE t (CONSTRAINT c EXPECT (a) ON VIOLATION WARN) STORED AS CSV LOCATION 'x';", "1:63", "it warns and counts"),
        ("CREATE EXTERNAL TABLE t (CONSTRAINT c EXPECT (a) ON VIOLATION DROP) STORED AS CSV LOCATION 'x';", "1:63", "DROP ROW?"),
    ],
)
def test_spellings_of_other_products(text: str, expected: str, hint: str) -> None:
    """What other products write is answered with how it is written here, at the word itself."""
    script = read(text)

    assert str(script.errors[0].location) == f"f.sql:{expected}"
    assert hint in (script.errors[0].hint or "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SET 'a' = 'b'\nCOPY v TO 'x' STORED AS CSV;", ["2:1 expected ; before COPY"]),
        ("CREATE VIEW v AS SELECT 1\n  CREATE VIEW w AS SELECT 2;", ["2:3 expected ; before CREATE"]),
        ("CREATE VIEW v AS SELECT (1\nCOPY v TO 'x' STORED AS CSV;", ["1:25 this ( has no closing ) in the query", "2:1 expected ; before COPY"]),
        ("CREATE VIEW v AS SELECT 1)\nFROM x;", ["1:26 this ) closes nothing"]),
        ("CREATE VIEW v AS SELECT [1, (2];", ["1:31 expected ) in the query, found ]"]),
        ("COPY (SELECT 1)) TO 'x' STORED AS CSV;", ["1:16 this ) closes nothing"]),
        ("COPY (SELECT 1 TO 'x' STORED AS CSV;", ["1:6 this ( has no closing ) behind the query"]),
        ("COPY TO 'x' STORED AS CSV;", ["1:6 expected a relation or a query in parentheses before TO"]),
        ("COPY\n;", ["2:1 expected a relation or a query in parentheses, found ;"]),
        ("CREATE", ["1:7 expected EXTERNAL TABLE, VIEW or FUNCTION after CREATE, found the end of the file"]),
        ("CREATE UNBOUNDED VIEW v AS SELECT 1;", ["1:18 expected EXTERNAL TABLE after CREATE UNBOUNDED, found VIEW"]),
        ("CREATE VIEW raw.v AS SELECT 1;", ["1:13 a view's name is one identifier, found raw.v"]),
        ("COPY raw. TO 'x' STORED AS CSV;", ["1:14 expected TO 'url', found 'x'"]),
        ("CREATE OR REPLACE EXTERNAL TABLE t STORED AS CSV LOCATION 'x';", ["1:8 OR REPLACE does not go with EXTERNAL TABLE"]),
        ("CREATE EXTERNAL TABLE t;", ["1:24 expected STORED AS and the kind of source, such as KAFKA, found ;", "1:24 expected LOCATION 'url', found ;"]),
        ("CREATE FUNCTION f(INT) RETURNS INT AS 'x';", ["1:42 expected LANGUAGE WASM, FLIGHT or PYTHON, found ;"]),
        ("CREATE FUNCTION f INT;", ["1:19 expected ( before the types of the arguments, found INT"]),
        ("CREATE FUNCTION f(INT] RETURNS INT LANGUAGE WASM AS 'x';", ["1:22 expected ) behind the types of the arguments, found ]"]),
        ("COPY v TO 'x' STORED AS CSV STORED AS CSV;", ["1:29 STORED AS is given twice"]),
        ("COPY v TO 'x' STORED AS CSV PARTITIONED BY (a, a);", ["1:48 column a is given twice in PARTITIONED BY"]),
        ("COPY v TO 'x' STORED AS CSV PARTITIONED BY a;", ["1:44 expected ( before PARTITIONED BY, found a"]),
        ("COPY v TO 'x' STORED AS CSV OPTIONS ();", ["1:38 expected an option key in single quotes, found )"]),
        ("SET 'a' = 'b' 'c';", ["1:15 expected ; after the statement, found 'c'"]),
        ("SET 'a' = 'b';\nSET 'a' = 'c';", ["2:5 setting 'a' is defined twice"]),
        ("CREATE VIEW a AS SELECT 1;\nCREATE EXTERNAL TABLE A STORED AS CSV LOCATION 'x';", ["2:23 a is defined twice"]),
        ("CREATE EXTERNAL TABLE t (a INT, A INT) STORED AS CSV LOCATION 'x';", ["1:33 column a is given twice"]),
        (
            "CREATE EXTERNAL TABLE t (CONSTRAINT c EXPECT (a), CONSTRAINT c EXPECT (b)) STORED AS CSV LOCATION 'x';",
            ["1:62 constraint c is given twice"],
        ),
        ("CREATE EXTERNAL TABLE t (CONSTRAINT c EXPECT ()) STORED AS CSV LOCATION 'x';", ["1:47 expected the condition, found )"]),
        ("CREATE EXTERNAL TABLE t (a DECIMAL(1, 2) STORED AS CSV LOCATION 'x';", ["1:42 expected METADATA FROM, NOT NULL, a comma or ) in the column list, found STORED"]),
        ("CREATE EXTERNAL TABLE t (a MAP<INT, (1>) STORED AS CSV LOCATION 'x';", ["1:42 expected > behind the type, found STORED"]),
        ("CREATE EXTERNAL TABLE t (a DECIMAL(1, 2 STORED AS CSV LOCATION 'x';", ["1:41 expected ), found STORED"]),
        ("CREATE EXTERNAL TABLE t () STORED AS CSV LOCATION 'x';", ["1:26 expected a column name or CONSTRAINT, found )"]),
        ("CREATE EXTERNAL TABLE t (a INT, (;", ["1:33 expected a column name or CONSTRAINT, found ("]),
        ("CREATE EXTERNAL TABLE t (a ARRAY<INT) STORED AS CSV LOCATION 'x';", ["1:37 expected > behind the type, found )"]),
    ],
)
def test_broken_statements(text: str, expected: list[str]) -> None:
    """Each broken statement says what was expected, at the lexeme that is wrong."""
    assert errors(text) == expected


def test_names_of_broken_statements_are_kept() -> None:
    """A relation whose statement is broken is known to be broken, so that nobody is told that it does not exist (DAG-16)."""
    text = 'CREATE TABLE a (x INT);\nCREATE VEIW b AS SELECT 1;\nCREATE VIEW "C d" SELECT 1;\nCREATE EXTERNAL TABLE e (;\nCOPY f TO;'

    assert read(text).broken == {"a", "b", "C d", "e"}


def test_function_and_relation_may_share_a_name() -> None:
    """Functions have a name space of their own."""
    assert errors("CREATE VIEW f AS SELECT 1; CREATE FUNCTION f() RETURNS INT LANGUAGE WASM AS 'x';") == []


def test_spoilt_statements_give_one_error() -> None:
    """A missing quote or an unset variable is one error; what follows from it is not reported, what follows after it is."""
    text = "COPY a TO './x STORED AS CSV;\nSET 'k' = '${NOPE}';\nCOPY b TO ${NOPE} STORED AS CSV;\nCOPY c TO './z';\n/* end"

    assert errors(text) == [
        "1:11 unterminated string",
        "2:12 the environment variable NOPE is not set",
        "3:11 the environment variable NOPE is not set",
        "4:16 expected STORED AS and the kind of sink, such as PARQUET, found ;",
        "5:1 unterminated comment",
    ]
    assert read(text).statements == ()


def test_error_never_shows_a_value() -> None:
    """An error shows the variable, never what it holds, wherever the value ended up (CF-01)."""
    text = "COPY v TO ${S} STORED AS CSV;\nSET 'a' '${S}';\nSET ${S};\n${S} x;\nCREATE VIEW v ${S};"
    script = read(text, {"S": "s3cret words'"})

    assert len(script.errors) >= 4
    for error in script.errors:
        assert "s3cret" not in str(error)
        assert "s3cret" not in (error.hint or "")
        assert "s3cret" not in error.location.text


def test_substituted_text_is_parsed() -> None:
    """Values reach the statements, and places behind them point into the file as it is."""
    text = "SET 'a' = '${LONG}'; COPY v TO '${Q}' STORED AS CSV WRONG;"
    script = read(text, {"LONG": "x" * 100, "Q": "it's"})

    assert isinstance(script.statements[0], SetOption)
    assert script.statements[0].value.value == "x" * 100
    assert errors(text, {"LONG": "x" * 100, "Q": "it's"}) == [f"1:{text.index('WRONG') + 1} expected STORED AS, PARTITIONED BY, OPTIONS or ;, found WRONG"]


@pytest.mark.parametrize("text", ["", ";", " ;; \n", "-- nothing", "/* nothing */"])
def test_empty_scripts(text: str) -> None:
    """A file without statements has no errors of its own."""
    script = read(text)

    assert (script.statements, script.errors) == ((), ())


def damaged(rnd: random.Random, starts: list[tuple[int, int]]) -> tuple[str, int]:
    """A copy of the good script with one wound, and where the wound is."""
    start, end = rnd.choice(starts)
    kind = rnd.randrange(4)
    if kind == 0:
        return GOOD[:start] + GOOD[end:], start
    if kind == 1:
        wound = rnd.choice([";", "(", ")", "'", '"', ",", "/*", "*/", "AS", "CREATE", "\n", "é", "$", "${", "${X}", "#", "<", "]", "\x00"])
        return f"{GOOD[:start]}{wound} {GOOD[start:]}", start
    if kind == 2:
        return GOOD[:start], start
    other = rnd.choice(starts)
    return GOOD[:start] + GOOD[other[0] : other[1]] + GOOD[end:], start


@pytest.mark.parametrize("seed", range(8))
def test_damaged_scripts(seed: int) -> None:
    """Of hundreds of damaged copies none crashes, every fragment stays verbatim, and errors are near the wound."""
    rnd = random.Random(seed)
    starts = [(lexeme.start, lexeme.end) for lexeme in lex(GOOD)[0]]
    found = near = 0
    for _ in range(150):
        bad, at = damaged(rnd, starts)
        script = read(bad, {"X": "it's"})
        for fragment in fragments(script):
            assert script.source.text[fragment.start : fragment.end] == fragment.text
        for statement in script.statements:
            assert 0 <= statement.start < statement.end <= len(script.source.text)
        places = [(e.location.line, e.location.column) for e in script.errors]
        assert places == sorted(places)
        line = bad.count("\n", 0, at) + 1
        found += bool(places)
        near += any(abs(place[0] - line) <= 1 for place in places)

    assert found > 75
    assert near >= 0.9 * found


def test_types_of_the_tree() -> None:
    """The parts of a table are frozen: a plan cannot change what the file says."""
    table = next(s for s in read(GOOD).statements if isinstance(s, CreateTable))

    with pytest.raises(AttributeError):
        table.columns[0].name = "other"  # type: ignore[misc]
    assert isinstance(table.columns[0], ColumnDef)
    assert isinstance(table.expectations[0], Expectation)
