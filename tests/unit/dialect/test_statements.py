"""One statement at a time: what is expected where, and what a misspelt word was meant to be."""

from __future__ import annotations

import pytest

from tests.corpus.scripts import errors, read


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
