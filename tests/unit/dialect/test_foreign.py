"""Statements of other products."""

from __future__ import annotations

import pytest

from tests.corpus.scripts import read


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
