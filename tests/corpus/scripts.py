"""A pipeline file that uses all of the language, and how the tests read one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.dialect.script import parse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from thalweg.dialect.tree import Script

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
