-- Orders from a Kafka topic into two Parquet tables, and what could not be handled into a third.
-- Runs on the broker inside the process, filled with the rows of sql/orders.sql, and ends by itself.

SET 'pipeline.name' = 'quickstart';

CREATE EXTERNAL TABLE orders (
  order_id   BIGINT NOT NULL,
  ordered_at TIMESTAMP_LTZ,
  customer   ROW<id BIGINT, country STRING>,
  lines      ARRAY<ROW<sku STRING, qty INT, price DOUBLE>>,
  discount   STRING,
  status     STRING
) STORED AS KAFKA LOCATION 'kafka://embedded/orders'
OPTIONS (
  'format' 'json',
  'embedded.data' 'sql/orders.sql',
  'scan.startup.mode' 'earliest-offset',
  'scan.bounded.mode' 'latest-offset',
  'bad_data' 'dlq'
);

-- Orders that are no tests. A discount that is no number is one dead letter, not the end of the run.
CREATE VIEW clean AS
SELECT order_id, ordered_at, upper(customer['country']) AS country, CAST(discount AS DOUBLE) AS discount, lines
FROM orders
WHERE status <> 'TEST';

CREATE VIEW order_heads AS
SELECT order_id, ordered_at, country, discount FROM clean;

-- One row for each line of an order; an order without lines makes no row.
CREATE VIEW order_lines AS
SELECT order_id, country, line['sku'] AS sku, line['qty'] AS qty, line['qty'] * line['price'] AS total
FROM (SELECT order_id, country, unnest(lines) AS line FROM clean);

COPY order_heads TO './out/orders/'       STORED AS PARQUET PARTITIONED BY (country);
COPY order_lines TO './out/order_lines/'  STORED AS PARQUET;
COPY dlq.orders  TO './out/dead_letters/' STORED AS PARQUET;
