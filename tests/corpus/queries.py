"""The query corpus: one paragraph of a ``.sql`` file each, and the tables that they read."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

HERE = Path(__file__).parent
ROW_COUNT = 6
PAID, OPEN = "paid", "open"


class Case(NamedTuple):
    """A query, and the words of the comment in front of it."""

    note: str
    sql: str


def cases(name: str) -> list[Case]:
    """The queries of ``name.sql``; the first paragraph says what the file is."""
    found = []
    for paragraph in (HERE / f"{name}.sql").read_text(encoding="utf-8").split("\n\n")[1:]:
        note, sql = "", paragraph.strip("\n")
        if sql.startswith("-- "):
            note, _, sql = sql.removeprefix("-- ").partition("\n")
        found.append(Case(note, sql))
    return found


def streams() -> dict[str, pa.RecordBatch]:
    """Relations that hang on a source, by qualified name."""
    line = pa.struct([("sku", pa.string()), ("qty", pa.int64())])
    customer = pa.struct([("name", pa.string()), ("country", pa.string())])
    orders = pa.record_batch(
        {
            "order_id": pa.array(range(1, ROW_COUNT + 1), pa.int64()),
            "Customer Id": pa.array([3, 1, 2, 1, None, 7], pa.int64()),
            "status": [PAID, OPEN, None, "TEST", PAID, "schließen"],
            "amount": pa.array([Decimal("1.50"), None, Decimal("-2.25"), Decimal("0.00"), Decimal("99999.99"), Decimal("1.50")], pa.decimal128(10, 2)),
            "price": pa.array([1.5, 2.5, None, 0.0, 4.0, 1.5]),
            "placed": pa.array([0, 1_000_000, None, 86_400_000_000, -1, 1_700_000_000_123_456], pa.timestamp("us")),
            "tags": pa.array([["a", "b"], [], None, ["c"], ["a", None, "b"], ["z"]], pa.list_(pa.string())),
            "lines": pa.array(
                [[{"sku": "s1", "qty": 1}, {"sku": "s2", "qty": 2}], [], None, [{"sku": "s3", "qty": 3}], [None], [{"sku": None, "qty": 9}]],
                pa.list_(line),
            ),
            "customer": pa.array(
                [{"name": "n1", "country": "de"}, {"name": "n2", "country": "fr"}, None, {"name": None, "country": "de"},
                 {"name": "n5", "country": None}, {"name": "n6", "country": "xx"}],
                customer,
            ),
            "attrs": pa.array([[("x", 1)], [], None, [("x", 4), ("y", 5)], [("y", None)], [("x", 0)]], pa.map_(pa.string(), pa.int64())),
            "note": ["a b", "b", None, "", "😀", "A z"],
            "flag": [True, False, None, True, False, True],
            "payload": pa.array([b"", b"\x00", None, b"abc", b"\xff", b"z"], pa.binary()),
        }
    )  # fmt: skip
    clicks = pa.record_batch({"order_id": pa.array([1, 1, 2, 3, None, 6], pa.int64()), "url": ["/a", "/b", None, "/a", "/c", ""]})
    mixed = pa.record_batch({"Käse": pa.array(range(ROW_COUNT), pa.int64()), "a b": ["x"] * ROW_COUNT})
    raw = pa.record_batch(
        {"payload": pa.array([b"1", None, b"", b"2", b"3", b"4"], pa.binary()), "_twg_source_offset": pa.array(range(ROW_COUNT), pa.int64())}
    )
    return {"orders": orders, "clicks": clicks, "Mixed Case": mixed, "raw.orders": raw}


def statics() -> dict[str, pa.RecordBatch]:
    """Bounded tables."""
    countries = pa.record_batch({"code": ["de", "fr", "it", "de"], "label": ["Deutschland", "France", "Italia", "Germany"]})
    caps = pa.record_batch({"status": [PAID, OPEN, PAID, "closed"], "cap": pa.array([1, 2, 3, None], pa.int64())})
    return {"countries": countries, "caps": caps}
