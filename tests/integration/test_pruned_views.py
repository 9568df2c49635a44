"""Views make only what their readers read, and nothing else changes: random pipelines give the same tables and dead letters either way."""

from __future__ import annotations

import dataclasses
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from thalweg import compose
from thalweg.model.events import PipelineStarted
from thalweg.sinks.memory.store import STORE

if TYPE_CHECKING:
    from tests.integration.conftest import Lab
    from thalweg.plan.graph import Plan

TABLES = """
SET 'pipeline.name' = '{t}';
CREATE EXTERNAL TABLE orders (
  id BIGINT, country STRING, amount DECIMAL(10, 2), note STRING, customer ROW<id BIGINT, name STRING>, lines ARRAY<ROW<sku STRING, qty INT>>,
  tags MAP<STRING, DOUBLE>, "Mixed Case" STRING, at BIGINT METADATA FROM 'offset'
) STORED AS MEMORY LOCATION 'memory://{t}-orders' OPTIONS ('format' 'json', 'scan.bounded.mode' 'latest-offset', 'bad_data' 'dlq');
CREATE EXTERNAL TABLE names (country STRING, note STRING, code BIGINT) STORED AS CSV LOCATION 'names.csv' OPTIONS ('format.has_header' 'true');
COPY dlq.orders TO 'memory://{t}-dlq' STORED AS MEMORY;
"""
COLUMNS = {
    "id": "int", "country": "text", "amount": "decimal", "note": "text", "customer": "struct", "lines": "list", "tags": "map",
    '"Mixed Case"': "text", "at": "int",
}  # fmt: skip
STATICS = [
    "(SELECT country AS c, max(code) AS k FROM names GROUP BY country)",
    "(SELECT DISTINCT country AS c, code AS k FROM names WHERE code < 3)",
    "(SELECT country AS c, row_number() OVER (ORDER BY code) AS k FROM names)",
    "(SELECT country AS c, code AS k FROM names EXCEPT SELECT country, code FROM names WHERE code > 2)",
    "(SELECT country AS c, code AS k FROM names INTERSECT SELECT country, code FROM names WHERE code < 3)",
    "(SELECT country AS c, code AS k FROM names ORDER BY 2 DESC LIMIT 2)",
    "(WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT country AS c, n AS k FROM names JOIN r ON r.n = names.code)",
]


def prepare(lab: Lab) -> None:
    """Records, some with a fault in one field, some that a cast fails on; and the static table."""
    good: list[Any] = [
        {
            "id": n, "country": ["de", "fr", "xx", None][n % 4], "amount": f"{n}.50", "note": str(n) if n % 5 else "no number", "Mixed Case": f"m{n}",
            "customer": {"id": n, "name": f"c{n}"} if n % 3 else None, "lines": [{"sku": f"s{n}", "qty": n}] * (n % 3), "tags": {"a": n},
        }
        for n in range(12)
    ]  # fmt: skip
    faults = [{"amount": "x"}, {"lines": [{"qty": "many"}]}, {"tags": {"a": "b"}}, {"id": 2**70}, {"country": []}, {"customer": {"name": 5}}]
    (lab.folder / "names.csv").write_text("country,note,code\nde,1,1\nfr,2,2\nxx,3,3\n")
    lab.fill(*good, b"{", *({**good[1], **fault} for fault in faults), *good[:2])


@dataclass(slots=True)
class Pipelines:
    """Random scripts: views over views, and targets that read some of what the views have."""

    dice: random.Random
    known: dict[str, dict[str, str]] = field(default_factory=lambda: {"orders": COLUMNS})
    names: int = 0

    def script(self) -> str:
        """Views, then targets; most views have several readers."""
        lines = []
        for n in range(self.dice.randint(1, 4)):
            text, columns = self.view(self.dice.choice(list(self.known)[-2:]))
            lines.append(f"CREATE VIEW v{n} AS {text};")
            self.known[f"v{n}"] = columns
        for n in range(self.dice.randint(2, 4)):
            over = self.dice.choice(list(self.known)[-2:])
            text = over if self.dice.random() < 0.05 else f"({self.reader(over)})"
            lines.append(f"COPY {text} TO 'memory://{{t}}-out{n}' STORED AS MEMORY OPTIONS ('metadata' '{self.dice.choice(['none', 'locator'])}');")
        return "\n".join(lines)

    def fresh(self) -> str:
        """A name that nobody has."""
        self.names += 1
        return f"x{self.names}"

    def of(self, columns: dict[str, str], *kinds: str) -> str | None:
        """A column of one of some types, if there is one."""
        fitting = [name for name, kind in columns.items() if kind in kinds]
        return self.dice.choice(fitting) if fitting else None

    def condition(self, columns: dict[str, str], prefix: str = "") -> str:
        """Something that may be true."""
        number, text, struct = self.of(columns, "int"), self.of(columns, "text"), self.of(columns, "struct")
        options = ["1 = 1"]
        options += [f"{prefix}{number} % 2 = 0", f"{prefix}{number} IS NOT NULL", f"{prefix}{number} >= 0 OR true"] if number else []
        options += [f"{prefix}{text} <> 'fr'", f"{prefix}{text} IN (SELECT country FROM names)"] if text else []
        options += [f"{prefix}{struct}['id'] > 2"] if struct else []
        return self.dice.choice(options)

    def items(self, columns: dict[str, str]) -> tuple[list[str], dict[str, str]]:
        """Some columns, and expressions over some, of which some fail on some rows."""
        some = self.dice.sample(list(columns), self.dice.randint(1, min(3, len(columns))))
        out, made = list(some), {name: columns[name] for name in some}
        number, text, struct, mapped = (self.of(columns, kind) for kind in ("int", "text", "struct", "map"))
        options = [(f"{number} + 1", "int")] if number else []
        options += [(f"CAST({text} AS INT)", "int"), (f"upper({text})", "text"), (f"try_cast({text} AS BIGINT)", "int")] if text else []
        options += [(f"{struct}['name']", "text"), (f"{struct}['id']", "int")] if struct else []
        options += [(f"{mapped}['a']", "double")] if mapped else []
        options += [("1", "int"), ("(SELECT max(code) FROM names)", "int")]
        for text_of, kind in self.dice.sample(options, self.dice.randint(0, 2)):
            name = self.fresh()
            out.append(f"{text_of} AS {name}")
            made[name] = kind
        return out, made

    def view(self, over: str) -> tuple[str, dict[str, str]]:
        """A query that mostly hands everything on."""
        columns = self.known[over]
        where = self.condition(columns)
        forms = [
            self.starred, self.starred, self.chosen, self.renamed, self.united, self.joined, self.joined, self.unnested, self.left_out, self.with_clause,
        ]  # fmt: skip
        return self.dice.choice(forms)(over, dict(columns), where)

    def starred(self, over: str, columns: dict[str, str], where: str) -> tuple[str, dict[str, str]]:
        """``*``, perhaps with something more."""
        out, made = self.items(columns)
        more = [item for item in out if " AS " in item and self.dice.random() < 0.6]
        made = {name: kind for name, kind in made.items() if any(item.endswith(f" AS {name}") for item in more)}
        return f"SELECT {', '.join(['*', *more])} FROM {over} WHERE {where}", columns | made

    def chosen(self, over: str, columns: dict[str, str], where: str) -> tuple[str, dict[str, str]]:
        """A list."""
        out, made = self.items(columns)
        return f"SELECT {', '.join(out)} FROM {over} WHERE {where} -- the end\n", made

    def renamed(self, over: str, columns: dict[str, str], where: str) -> tuple[str, dict[str, str]]:
        """Columns named by position."""
        names = {self.fresh(): kind for kind in columns.values()}
        return f"SELECT * FROM (SELECT * FROM {over} WHERE {where}) AS q({', '.join(names)})", names

    def united(self, over: str, columns: dict[str, str], where: str) -> tuple[str, dict[str, str]]:
        """UNION ALL, by position or by name, of the same columns or others of the same types."""
        if self.dice.random() < 0.5:
            backwards = ", ".join(reversed(columns))
            return f"SELECT * FROM {over} WHERE {where} UNION ALL BY NAME SELECT {backwards} FROM {over}", columns
        texts = [name for name, kind in columns.items() if kind == "text"]
        turned = dict(zip(texts, texts[1:] + texts[:1], strict=True))
        return f"SELECT * FROM {over} WHERE {where} UNION ALL SELECT {', '.join(turned.get(c, c) for c in columns)} FROM {over}", columns

    def joined(self, over: str, columns: dict[str, str], where: str) -> tuple[str, dict[str, str]]:
        """A join with a static table or a query over one."""
        if "country" in columns and self.dice.random() < 0.4:
            how = self.dice.choice([f"{over} NATURAL JOIN names", f"{over} JOIN names USING (country)", f"{over} LEFT JOIN names ON {over}.country = names.country"])
            name = self.fresh()
            return f"SELECT {over}.*, names.code AS {name} FROM {how}", columns | {name: "int"}
        text = self.of(columns, "text")
        if text is None:
            return self.starred(over, columns, where)
        name = self.fresh()
        join = self.dice.choice(["JOIN", "LEFT JOIN"])
        return f"SELECT o.*, s.k AS {name} FROM {over} AS o {join} {self.dice.choice(STATICS)} AS s ON s.c = o.{text}", columns | {name: "int"}

    def unnested(self, over: str, columns: dict[str, str], where: str) -> tuple[str, dict[str, str]]:
        """A row for each item; how many rows there are hangs on a column that perhaps nobody reads."""
        several = self.of(columns, "list")
        if several is None:
            return self.left_out(over, columns, where)
        name = self.fresh()
        return f"SELECT *, unnest({several}) AS {name} FROM {over} WHERE {where}", columns | {name: "line"}

    def left_out(self, over: str, columns: dict[str, str], where: str) -> tuple[str, dict[str, str]]:
        """Everything but one column."""
        gone = self.dice.choice(list(columns))
        if len(columns) == 1:
            return self.chosen(over, columns, where)
        return f"SELECT * EXCLUDE ({gone}) FROM {over} WHERE {where}", {name: kind for name, kind in columns.items() if name != gone}

    def with_clause(self, over: str, columns: dict[str, str], where: str) -> tuple[str, dict[str, str]]:
        """Through a CTE that has the name of a column."""
        return f"WITH note AS (SELECT * FROM {over}) SELECT * FROM note WHERE {where}", columns

    def reader(self, over: str) -> str:
        """What a target reads of a view."""
        columns = self.known[over]
        out, _ = self.items(columns)
        form = self.dice.randrange(5)
        if form == 0:
            return f"SELECT {', '.join(out)} FROM (SELECT * FROM {over}) AS {over}"
        if form == 1:
            names = {name: self.fresh() for name in columns}
            return f"SELECT {self.dice.choice(list(names.values()))} FROM {over} AS q({', '.join(names.values())})"
        if form == 2 and "country" in columns:
            return f"SELECT 1 AS one FROM {over} NATURAL JOIN names"
        return f"SELECT {', '.join(out)} FROM {over} WHERE {self.condition(columns)}"


def planned(lab: Lab, script: str) -> Plan:
    """The plan of a script over the orders."""
    (lab.folder / "p.sql").write_text(lab.name(TABLES + script))
    return compose.read_plan(str(lab.folder / "p.sql"), settings={"decode.kernels": "off"}, environ={}, connect=True)


def unpruned(plan: Plan) -> Plan:
    """The same with every column made, into other targets."""
    table = plan.sources[0]
    value = dataclasses.replace(table.value, request=dataclasses.replace(table.value.request, wanted=None))
    lanes = tuple(dataclasses.replace(lane, location=f"{lane.location}-all") for lane in plan.lanes)
    nodes = tuple(dataclasses.replace(node, made=None) for node in plan.nodes)
    settings = dataclasses.replace(plan.settings, name=f"{plan.settings.name}-all")
    return dataclasses.replace(plan, settings=settings, sources=(dataclasses.replace(table, value=value),), nodes=nodes, lanes=lanes)


def stored(location: str) -> list[str]:
    """A target's rows in an order of their own, without the times of this run."""
    rows = STORE.rows(location)
    return sorted(str({k: v for k, v in row.items() if not k.endswith(("failed_at", "ingest_ts", "emit_ts", "_pipeline", "_error_message"))}) for row in rows)


def compared(lab: Lab, plan: Plan) -> None:
    """Run a plan as it is and with every column made."""
    for each in (plan, unpruned(plan)):
        compose.build(each, observers=(lab.seen,)).run()
    for lane in plan.lanes:
        assert stored(lane.location) == stored(f"{lane.location}-all"), plan.source.text


def drawn(lab: Lab, seed: int) -> Plan:
    """A plan of a random script."""
    return planned(lab, Pipelines(random.Random(seed)).script())


@pytest.mark.parametrize("seed", range(30))
def test_random_pipelines_agree(lab: Lab, seed: int) -> None:
    """Views on views, joins, unnest, unions and subqueries: the same rows, locators and dead letters, with pruning and without (law 2, law 4)."""
    prepare(lab)

    compared(lab, drawn(lab, seed))


def test_random_pipelines_are_pruned(lab: Lab) -> None:
    """The comparison above is not of plans that prune nothing: many views make less than they have, and many tables are not decoded whole."""
    prepare(lab)
    plans = [drawn(lab, seed) for seed in range(30)]

    assert sum(node.made is not None for plan in plans for node in plan.nodes) >= 20
    assert sum(plan.sources[0].value.request.wanted is not None for plan in plans) >= 20


LIVE = """
CREATE VIEW live AS SELECT * FROM orders WHERE country <> 'fr';
COPY (SELECT id, customer['id'] AS customer_id FROM live) TO 'memory://{t}-orders' STORED AS MEMORY OPTIONS ('metadata' 'none');
COPY (SELECT id, l['sku'] AS sku FROM (SELECT id, unnest(lines) AS l FROM live)) TO 'memory://{t}-lines' STORED AS MEMORY OPTIONS ('metadata' 'all');
"""


@pytest.mark.parametrize("compiled", [False, True])
def test_a_view_hands_on_what_its_readers_use(lab: Lab, *, compiled: bool) -> None:
    """Decoders make fewer columns, the view fewer still, the start log says both; rows, locators and dead letters are there (law 2)."""
    prepare(lab)
    (lab.run_compiled if compiled else lab.run)(TABLES + LIVE)
    facts = lab.seen.of(PipelineStarted)[0].facts
    assert lab.pipeline is not None
    (flow,) = lab.pipeline._machine.epochs._flows.values()

    assert facts["reads orders"].startswith("id, country, customer, lines (4 of 9 columns")
    assert facts["makes live"] == "id, customer, lines (3 of 9 columns; nobody reads the others)"
    if compiled:
        assert flow.decoding._decoders[0].schema.names == ["id", "country", "customer", "lines"]
    assert [tuple(row.values()) for row in lab.rows("orders")] == [(0, None), (2, 2), (4, 4), (6, None), (8, 8), (10, 10), (0, None)]
    assert {row["sku"] for row in lab.rows("lines")} == {"s2", "s4", "s8", "s10"}
    assert all(row["_twg_source_topic"].endswith("orders") and row["_twg_record_id"] for row in lab.rows("lines"))
    assert len(lab.rows("dlq")) == 7


def test_a_failing_column_that_nobody_reads_is_still_a_dead_letter(lab: Lab) -> None:
    """Pruning a view does not turn a row that it cannot compute into a good one (law 2)."""
    prepare(lab)
    lab.run(TABLES + """
        CREATE VIEW live AS SELECT *, CAST(note AS INT) AS number FROM orders WHERE id < 7;
        COPY (SELECT id FROM live) TO 'memory://{t}-out' STORED AS MEMORY;
        COPY (SELECT country FROM live) TO 'memory://{t}-two' STORED AS MEMORY;
    """)

    assert lab.column("out", "id") == [1, 2, 3, 4, 6, 1]
    assert [row["_twg_error_relation"] for row in lab.rows("dlq") if row["_twg_error_code"] == "sql.cast"] == ["live"] * 3
    assert lab.seen.of(PipelineStarted)[0].facts["makes live"].startswith("id, country, number (3 of 10")


def test_readers_whose_rows_are_not_traced(lab: Lab) -> None:
    """A query that cannot carry the row number reads a view that makes less: what is not made keeps its place there too."""
    prepare(lab)
    plan = planned(lab, """
        CREATE VIEW live AS SELECT * FROM orders WHERE id < 4;
        COPY ((SELECT id FROM live UNION ALL BY NAME SELECT id FROM live) UNION ALL SELECT at FROM live) TO 'memory://{t}-out' STORED AS MEMORY;
        COPY (SELECT country FROM live) TO 'memory://{t}-two' STORED AS MEMORY;
    """)
    reader, view = (plan.node_named(name) for name in (next(lane.relation for lane in plan.lanes if lane.location.endswith("-out")), "live"))

    assert reader is not None
    assert reader.opaque is not None
    assert view is not None
    assert view.made == ("id", "country", "at")
    compared(lab, plan)
    assert len(lab.rows("out")) == 18


def test_a_view_over_two_topics(lab: Lab) -> None:
    """Each topic's epochs go through the view; each is decoded as far as the view's readers need it."""
    prepare(lab)
    lab.fill({"id": 100, "country": "de", "note": "n"}, topic="more")
    lab.run(TABLES + """
        CREATE EXTERNAL TABLE more (note STRING, country STRING, id BIGINT) STORED AS MEMORY LOCATION 'memory://{t}-more'
        OPTIONS ('format' 'json', 'scan.bounded.mode' 'latest-offset');
        CREATE VIEW both AS SELECT id, country, note FROM orders WHERE id < 2 UNION ALL SELECT id, country, note FROM more;
        COPY (SELECT id FROM both) TO 'memory://{t}-out' STORED AS MEMORY;
        COPY (SELECT country, id FROM both) TO 'memory://{t}-two' STORED AS MEMORY;
    """)
    facts = lab.seen.of(PipelineStarted)[0].facts

    assert facts["makes both"].startswith("id, country (2 of 3")
    assert facts["reads orders"].startswith("id, country (2 of 9")
    assert facts["reads more"].startswith("country, id (2 of 3")
    assert sorted(lab.column("out", "id")) == sorted(lab.column("two", "id")) == [0, 0, 1, 1, 100]
    assert {row["_twg_source_topic"].rpartition("-")[2] for row in lab.rows("two")} == {"orders", "more"}
