"""COPYs: sinks, options, columns and metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from tests.unit.plan.conftest import ORDERS
from thalweg.arrow.metadata import LOCATOR, TYPES, Policy
from thalweg.ports.sink import Guarantee

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.plan.conftest import Complaints, Planner


def test_every_copy_is_a_lane(plan: Planner) -> None:
    """Tables, raw lanes, interior views and queries can each be copied; names are the relations' and stay (CRD-04, DAG-02, DAG-03)."""
    text = f"""{ORDERS}CREATE VIEW v AS SELECT order_id FROM orders;
    COPY orders TO './a/' STORED AS PARQUET PARTITIONED BY (status) OPTIONS ('roll.rows' '5');
    COPY raw.orders TO 's3://lake/raw/' STORED AS PARQUET;
    COPY v TO 'console://' STORED AS CONSOLE;
    COPY (SELECT order_id FROM v) TO './d/' STORED AS PARQUET;"""

    lanes = plan(text).lanes

    assert [(lane.name, lane.relation, lane.kind, lane.location) for lane in lanes] == [
        ("orders", "orders", "PARQUET", "./a/"),
        ("raw.orders", "raw.orders", "PARQUET", "s3://lake/raw/"),
        ("v", "v", "CONSOLE", "console://"),
        ("copy_1", "copy_1", "PARQUET", "./d/"),
    ]
    assert lanes[0].partition_by == ("status",)
    assert lanes[0].options.roll_rows == 5
    assert [lane.guarantee for lane in lanes[:2]] == [Guarantee.EXACTLY_ONCE, Guarantee.AT_LEAST_ONCE]


def test_lanes_have_names_of_their_own(plan: Planner, complaints: Complaints) -> None:
    """A second target is numbered around the names of relations; the same target twice is refused."""
    text = f"{ORDERS}CREATE VIEW orders_2 AS SELECT order_id FROM orders;\n" + "".join(f"COPY orders TO './{d}/' STORED AS PARQUET;\n" for d in "abc")

    assert [lane.name for lane in plan(text).lanes] == ["orders", "orders_3", "orders_4"]
    (found,) = complaints(text.replace("./c/", "./a"))
    assert found == "7:16 orders is copied to this target twice (first in line 5)"


@pytest.mark.parametrize(("policy", "columns"), [("none", ()), ("locator", LOCATOR), ("all", tuple(TYPES))])
def test_the_policy_decides_the_metadata_columns(plan: Planner, policy: str, columns: tuple[str, ...]) -> None:
    """``metadata`` adds nothing, the locator or everything to a decoded lane (MET-31, MET-32)."""
    (lane,) = plan(f"{ORDERS}COPY (SELECT order_id FROM orders) TO './a/' STORED AS PARQUET OPTIONS ('metadata' '{policy}');").lanes

    assert lane.policy is Policy(policy)
    assert lane.schema == pa.schema([("order_id", pa.int64()), *((f"_twg_{name}", TYPES[name]) for name in columns)])


def test_raw_and_dead_letter_lanes_have_everything(plan: Planner) -> None:
    """The raw lane always carries the full set whatever the policy says, each column once (MET-33, MET-04)."""
    text = f"SET 'metadata.policy' = 'none';\n{ORDERS}COPY raw.orders TO './r/' STORED AS PARQUET;\nCOPY dlq.orders TO './d/' STORED AS PARQUET;"

    raw, letters = plan(text).lanes

    assert raw.schema is not None
    assert letters.schema is not None
    assert {name.removeprefix("_twg_") for name in raw.schema.names} == {"payload", *TYPES}
    assert set(raw.schema.names) < set(letters.schema.names)
    assert len(set(letters.schema.names)) == len(letters.schema.names)
    assert (raw.dead_letters, letters.dead_letters) == (False, True)


def test_metadata_that_a_query_has_is_not_added_again(plan: Planner) -> None:
    """A view over the raw lane keeps its own metadata columns and gets the missing ones."""
    text = f"{ORDERS}CREATE VIEW v AS SELECT payload, _twg_source_offset FROM raw.orders;\nCOPY v TO './v/' STORED AS PARQUET;"

    (lane,) = plan(text).lanes

    assert lane.schema is not None
    assert lane.schema.names == ["payload", "_twg_source_offset", "_twg_source_topic", "_twg_source_partition", "_twg_source_message_id"]


@pytest.mark.parametrize(
    ("copy", "said"),
    [
        ("COPY ordres TO './o/' STORED AS PARQUET;", "4:6 no table or view named ordres (did you mean 'orders'?)"),
        ("COPY dlq.ordres TO './o/' STORED AS PARQUET;", "4:6 no table or view named dlq.ordres (did you mean 'dlq.orders'?)"),
        ("COPY orders TO './o/' STORED AS PARQET;", "4:33 no sink writes PARQET (did you mean PARQUET?)"),
        ("COPY orders TO './o/' STORED AS QQQ;", "4:33 no sink writes QQQ (kinds: CONSOLE, MEMORY, PARQUET)"),
        ("COPY orders TO 'kafka://b/t' STORED AS PARQUET;", "4:16 PARQUET is not written to kafka://; it takes a path, file://"),
        ("COPY orders TO './o/' STORED AS CONSOLE;", "4:16 CONSOLE is not written to a path; it takes console://"),
        ("COPY orders TO './o/' STORED AS PARQUET OPTIONS ('roll.byts' '1');", "4:50 unknown option 'roll.byts' (did you mean 'roll.bytes'?)"),
        ("COPY orders TO './o/' STORED AS PARQUET OPTIONS ('roll.rows' 'x');", "4:62 option 'roll.rows': expected a whole number, found 'x'"),
        ("COPY orders TO './o/' STORED AS PARQUET OPTIONS ('metadata' 'some');", "4:61 option 'metadata': expected one of none, locator, all"),
        ("COPY orders TO './o/' STORED AS PARQUET PARTITIONED BY (sttus);", "4:57 no column named sttus to partition by (did you mean 'status'?)"),
        ("COPY orders TO './o/' STORED AS PARQUET PARTITIONED BY (lines);", "4:6 PARTITIONED BY column 'lines'"),
        ("COPY orders TO 'console://' STORED AS CONSOLE PARTITIONED BY (status);", "4:63 CONSOLE takes no PARTITIONED BY"),
        ("COPY raw.orders TO './o/' STORED AS PARQUET OPTIONS ('metadata' 'none');", "4:54 raw.orders always has all metadata columns"),
        ("COPY orders TO './o/' STORED AS PARQUET OPTIONS ('compression' 'snappy', 'compression.level' '3');", "4:74 option 'compression.level'"),
        ("COPY orders TO './o/';", "STORED AS"),
    ],
)
def test_wrong_copies_are_refused_where_they_stand(complaints: Complaints, copy: str, said: str) -> None:
    """Unknown relations, unclaimed kinds and schemes, unknown options and columns, each at its place (DAG-16, CRD-04, CFG-03)."""
    (found,) = complaints(f"{ORDERS}{copy}")

    assert found.startswith(said) or (not said[0].isdigit() and said in found)


@pytest.mark.parametrize(
    ("expression", "said"),
    [("INTERVAL '1 day'", "month_day_nano_interval"), ("NULL", "Parquet cannot hold null")],
)
def test_types_that_parquet_cannot_hold_are_refused(complaints: Complaints, expression: str, said: str) -> None:
    """A column that the target cannot hold is named when the file is checked, not after hours (PQ-01, DAG-17)."""
    (found,) = complaints(f"{ORDERS}CREATE VIEW v AS SELECT {expression} AS odd FROM orders;\nCOPY v TO './v/' STORED AS PARQUET;")

    assert found.startswith("5:6 column 'odd'")
    assert said in found


def test_a_static_relation_is_no_stream(complaints: Complaints, tmp_path: Path) -> None:
    """A COPY of something that hangs on no stream is refused in a pipeline."""
    (tmp_path / "c.csv").write_text("a\n1\n")
    text = f"{ORDERS}CREATE EXTERNAL TABLE c STORED AS CSV LOCATION 'c.csv' OPTIONS ('format.has_header' 'true');\n"

    found = complaints(f"{text}COPY c TO './c/' STORED AS PARQUET;\nCOPY (SELECT 1 AS x) TO './d/' STORED AS PARQUET;", base=str(tmp_path))

    assert [line.split(" (")[0] for line in found] == ["5:6 c reads no stream", "6:1 this query reads no stream"]


def test_lanes_over_untraced_rows_have_no_metadata(plan: Planner, complaints: Complaints) -> None:
    """Where rows cannot be traced there is no metadata column, and asking for one is refused with the reason (MET-38)."""
    untraced = (
        "CREATE VIEW one AS SELECT 1 AS k;\nCREATE VIEW v AS SELECT x.a AS order_id FROM (orders AS o CROSS JOIN one) AS x(a, b, c, d, e, f);\n"
    )

    (lane,) = plan(f"{ORDERS}{untraced}COPY v TO './v/' STORED AS PARQUET;").lanes
    (found,) = complaints(f"{ORDERS}{untraced}COPY v TO './v/' STORED AS PARQUET OPTIONS ('metadata' 'all');")

    assert lane.policy is Policy.NONE
    assert lane.schema is not None
    assert lane.schema.names == ["order_id"]
    assert found.startswith("6:45 the rows of v cannot be traced to their records")
