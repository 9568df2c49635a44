-- A topic of five records, one of them wrong.
SET 'pipeline.name' = 'shop';

CREATE EXTERNAL TABLE orders (
  id BIGINT NOT NULL,
  country STRING,
  amount DOUBLE,
  lines ARRAY<ROW<sku STRING, qty INT>>
) STORED AS KAFKA LOCATION 'kafka://embedded/orders'
OPTIONS (
  'format' 'json', 'embedded.data' 'shop.jsonl', 'embedded.partitions' '1',
  'scan.startup.mode' 'earliest-offset', 'scan.bounded.mode' 'latest-offset', 'bad_data' 'dlq'
);

CREATE VIEW order_lines AS
SELECT id, l['sku'] AS sku, l['qty'] AS qty FROM (SELECT id, unnest(lines) AS l FROM orders);

COPY order_lines TO './out/lines/' STORED AS PARQUET;
COPY dlq.orders TO './out/dlq/' STORED AS PARQUET;
