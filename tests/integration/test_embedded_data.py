"""Data for the embedded broker, as a pipeline file asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from thalweg import compose
from thalweg.errors import ScriptErrors
from thalweg.model.events import Notice
from thalweg.testing.fakes import RecordingObserver

if TYPE_CHECKING:
    from pathlib import Path

    from thalweg.plan.graph import Plan

KAFKA = "STORED AS KAFKA LOCATION 'kafka://embedded/orders' OPTIONS ('scan.bounded.mode' 'latest-offset', 'embedded.partitions' '1'"
FEED = f"CREATE EXTERNAL TABLE feed (value BYTES) {KAFKA}, 'format' 'raw', 'embedded.data' 'feed.sql', 'properties.group.id' 'feed');\n"
ORDERS = f"CREATE EXTERNAL TABLE orders (n BIGINT) {KAFKA}, 'format' 'json', 'bad_data' 'dlq');\n"


def planned(folder: Path, text: str) -> Plan:
    """The plan of a file."""
    file = folder / "p.sql"
    file.write_text(text.replace("TO '", f"TO '{folder}/"), encoding="utf-8")
    return compose.read_plan(str(file), settings={}, environ={}, connect=False)


def test_a_file_that_is_missing_is_found_before_the_run(tmp_path: Path) -> None:
    """At its option, without any connection (CLI-02)."""
    with pytest.raises(ScriptErrors, match=r"'embedded\.data': there is no file 'feed.sql'") as caught:
        planned(tmp_path, FEED + "COPY feed TO 'out/' STORED AS PARQUET;")

    (error,) = caught.value.errors
    assert error.location.text[error.location.column - 1 :].startswith("'feed.sql'")
    assert "looked at" in str(error.hint)


@pytest.mark.parametrize("fed", [True, False])
def test_a_table_that_nobody_reads_fills_nothing_and_says_so(tmp_path: Path, fed: bool) -> None:  # noqa: FBT001 - a parameter
    """Bad bytes are fed by a raw table over the same topic, which some COPY must read: as the guide says."""
    (tmp_path / "feed.sql").write_text("SELECT decode(h, 'hex') AS value FROM (VALUES ('7b226e223a317d'), ('ff00')) AS t(h)")
    seen = RecordingObserver()
    copies = "COPY orders TO 'orders/' STORED AS PARQUET;\nCOPY dlq.orders TO 'dlq/' STORED AS PARQUET;\n"
    plan = planned(tmp_path, FEED + ORDERS + copies + ("COPY feed TO 'feed/' STORED AS PARQUET;" if fed else ""))
    compose.build(plan, observers=(seen,)).run()

    warned = [n.message for n in seen.of(Notice) if n.code == "embedded.unread"]
    rows = {name: sum(pq.read_metadata(f).num_rows for f in (tmp_path / name).glob("*.parquet")) for name in ("orders", "dlq")}
    assert rows == ({"orders": 1, "dlq": 1} if fed else {"orders": 0, "dlq": 0})
    assert len(warned) == (not fed)
    assert all("feed: no COPY reads this table, so its 'embedded.data' is not used" in text for text in warned)
