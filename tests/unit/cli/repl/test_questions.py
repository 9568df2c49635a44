"""Answers over streams: up to now with all of SQL, or as rows come; nothing is committed."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.service.kafka_topics import send
from thalweg.cli.repl.pieces import Piece
from thalweg.cli.repl.questions import tail_answer, understand
from thalweg.errors import QueryFailed, ScriptError, UserError

if TYPE_CHECKING:
    from tests.unit.cli.repl.conftest import Desk
    from thalweg.native.mock_cluster import MockCluster


def test_a_question_knows_what_it_hangs_on(desk: Desk) -> None:
    """Streams are found through views; views come in an order in which they can be bound (CLI-07)."""
    workspace = desk.load().shell.workspace

    question = understand(workspace, Piece("SELECT * FROM doubled d JOIN raw.orders r ON true JOIN orders USING (id)", "input"))

    assert (set(question.bases), [t.name for t in question.tables]) == ({"orders", "raw.orders"}, ["orders"])
    assert [v.name for v in question.views] == ["clean", "doubled"]
    assert understand(workspace, Piece("SELECT 1", "input")).bases == ()


def test_a_question_that_cannot_be_read_is_understood_by_its_words(desk: Desk) -> None:
    """Where the text cannot be analysed, every relation that it names counts."""
    workspace = desk.load().shell.workspace

    assert understand(workspace, Piece("SELECT (1 FROM orders", "input")).bases == ("orders",)


def test_a_snapshot_allows_all_of_sql(desk: Desk) -> None:
    """Aggregates, order, windows, joins and subqueries over a stream, and its bad records are counted (CLI-07)."""
    desk.load()

    assert desk.type("SELECT country, count(*) AS n, sum(amount) AS s FROM orders GROUP BY country ORDER BY country;") == [
        "country | n |   s", "--------+---+----", "DE      | 2 | 6.0", "FR      | 1 | 7.5", "(2 rows)",
    ]
    assert "orders: 1 bad record left out (decode.malformed 1), the first: " in desk.said()
    assert desk.type("SELECT id, row_number() OVER (ORDER BY id DESC) r FROM clean WHERE id IN (SELECT id FROM doubled) ORDER BY id;")[2] == " 1 | 2"
    assert desk.type("SELECT unnest(tags) t FROM orders ORDER BY 1;")[2:] == ["a", "b", "c", "(3 rows)"]


def test_lanes_can_be_asked(desk: Desk) -> None:
    """raw.* and dlq.* are relations like any other (DLQ-01)."""
    desk.load()

    assert desk.type("SELECT count(*) AS n FROM raw.orders;")[2] == "4"
    assert desk.type("SELECT _twg_error_code AS code FROM dlq.orders;")[2] == "decode.malformed"
    assert desk.type("SELECT count(*) AS n FROM dlq.all;")[2] == "1"


def test_each_question_sees_what_came_since(desk: Desk) -> None:
    """A snapshot is taken anew each time, and nothing of it stays on disk."""
    desk.load()
    before = {p.name for p in Path(tempfile.gettempdir()).glob("twg-snapshot-*")}
    assert desk.type("SELECT count(*) AS n FROM orders;")[2] == "3"

    desk.topic.append(0, b'{"id": 4}')
    desk.topic.append(0, None)
    assert desk.type("SELECT count(*) AS n FROM orders;")[2] == "4"
    assert "orders: 1 tombstone left out" in desk.said()
    assert {p.name for p in Path(tempfile.gettempdir()).glob("twg-snapshot-*")} <= before | {p.name for p in Path(tempfile.gettempdir()).glob("twg-*")}
    assert desk.topic.committed("pipeline", 0) is None


def test_a_snapshot_keeps_to_the_bounds_of_its_table(desk: Desk, mock_kafka: MockCluster) -> None:
    """A Kafka table that starts and ends at offsets is answered from these; an end that is not there yet is not waited for (CLI-07)."""
    assert mock_kafka.create_topic("numbers", 2)

    for partition in (0, 1):
        send(mock_kafka.bootstrap, "numbers", [b"%d" % n for n in range(10)], partition)
    desk.type(
        f"CREATE EXTERNAL TABLE numbers (value BYTES) STORED AS KAFKA LOCATION 'kafka://{mock_kafka.bootstrap}/numbers' OPTIONS ('format' 'raw',"
        " 'scan.startup.mode' 'specific-offsets', 'scan.startup.specific-offsets' 'partition:0,offset:2;partition:1,offset:7',"
        " 'scan.bounded.mode' 'specific-offsets', 'scan.bounded.specific-offsets' 'partition:0,offset:6;partition:1,offset:99');"
    )

    found = desk.type(
        "SELECT _twg_source_partition AS p, min(_twg_source_offset) AS low, max(_twg_source_offset) AS high, count(*) AS n"
        " FROM raw.numbers GROUP BY 1 ORDER BY 1;"
    )

    assert [line.split(" | ") for line in found[2:4]] == [["0", "  2", "   5", "4"], ["1", "  7", "   9", "3"]]


def test_an_error_leaves_the_workspace_usable(desk: Desk) -> None:
    """A refused or failed question has its place or its message, and the next one works (CLI-08)."""
    desk.load()

    with pytest.raises(ScriptError, match=r"input:1:8: no column named nope \(columns: "):
        desk.type("SELECT nope FROM orders;")
    with pytest.raises(ScriptError, match=r"did you mean clean\?"):
        desk.type("SELECT * FROM cleen;")
    with pytest.raises(ScriptError, match=r"input:1:40: the engine has no plan .*unnest\(tags\)"):
        desk.type("SELECT x FROM orders CROSS JOIN UNNEST(tags) AS u(x);")
    with pytest.raises(ScriptError, match="no closing"):
        desk.type("SELECT (1 FROM orders;")
    with pytest.raises(ScriptError, match="input:1:11: expected: an expression, found the end"):
        desk.type("SELECT 1 +;")
    with pytest.raises(QueryFailed, match="Divide by zero"):
        desk.type("SELECT id / (id - id) FROM orders;")
    with pytest.raises(ScriptError, match="input:1:1: Cast error: Overflow"):
        desk.type("SELECT arrow_cast(TIMESTAMP '1999-12-31T00:00:00Z', 'Timestamp(Nanosecond, None)') > TIMESTAMP '9999-12-31T00:00:00Z' AS late;")
    assert desk.type("SELECT count(*) AS n FROM orders;")[2] == "3"


def test_a_misspelt_question_reads_no_stream(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be planned is refused before the source is opened."""
    desk.load()
    monkeypatch.setattr("thalweg.compose.open_source", None)

    with pytest.raises(ScriptError, match="no column named nope"):
        desk.type("SELECT nope FROM doubled;")


def test_the_limit_counts_for_the_whole_question(desk: Desk) -> None:
    """A snapshot that grows too large is refused with the setting that raises the limit (CLI-07)."""
    desk.load()
    desk.type("SET 'repl.snapshot.bytes' = '10 B';")

    with pytest.raises(UserError, match="larger than 10 bytes"):
        desk.type("SELECT * FROM orders;")


def test_a_tail_shows_rows_as_they_come(desk: Desk) -> None:
    """Rows of each batch pass through the views; LIMIT counts over all batches (CLI-07)."""
    workspace = desk.load().shell.workspace
    workspace.set("repl.tail.from", "earliest")
    question = understand(workspace, Piece("SELECT id, twice FROM doubled LIMIT 3", "input"))

    answers = tail_answer(workspace, question)
    assert next(answers).schema.names == ["id", "twice"]
    assert [row for b in next(answers).batches for row in b.to_pylist()] == [{"id": 1, "twice": 10.0}, {"id": 2, "twice": 15.0}]
    assert list(next(answers).batches) == []
    desk.topic.append(0, b'{"id": 7, "amount": 3.5}')
    desk.topic.append(0, b'{"id": 8, "amount": 3.5}')
    assert [row for b in next(answers).batches for row in b.to_pylist()] == [{"id": 7, "twice": 7.0}]
    assert list(answers) == []


def test_a_tail_begins_now_unless_told_otherwise(desk: Desk) -> None:
    """What was there before is not shown by default."""
    workspace = desk.load().shell.workspace
    answers = tail_answer(workspace, understand(workspace, Piece("SELECT id FROM orders", "input")))
    next(answers)

    assert list(next(answers).batches) == []
    desk.topic.append(0, b'{"id": 9}')
    assert [b.to_pylist() for b in next(answers).batches] == [[{"id": 9}]]
    answers.close()
    assert desk.type("SELECT count(*) AS n FROM orders;")[2] == "4"


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT count(*) FROM orders", "snapshot mode"),
        ("SELECT * FROM orders ORDER BY id", "snapshot mode"),
        ("SELECT * FROM totals", "view totals cannot be tailed"),
        ("SELECT 1", "no stream in this query"),
        ("SELECT nope FROM orders", "no column named nope"),
    ],
)
def test_a_tail_refuses_what_a_stream_cannot_answer(desk: Desk, query: str, reason: str) -> None:
    """Aggregates and order would silently mean per batch: refused with the way out (CLI-07)."""
    desk.load().type("CREATE VIEW totals AS SELECT country, sum(amount) AS s FROM orders GROUP BY country;")

    with pytest.raises(UserError) as refused:
        desk.type(f"\\tail {query}")

    assert reason in str(refused.value)


def test_a_view_over_an_aggregate_can_be_asked(desk: Desk) -> None:
    """In a REPL a view may use all of SQL: it is answered over a snapshot (CLI-07)."""
    desk.load().type("CREATE VIEW totals AS SELECT country, sum(amount) AS s FROM orders GROUP BY country;")

    assert desk.type("SELECT s FROM totals WHERE country = 'DE';")[2] == "6.0"
