CREATE EXTERNAL TABLE orders (
  order_id BIGINT,
  customer ROW<id BIGINT, country STRING>,
  lines ARRAY<ROW<sku STRING, qty INT>>,
  amount DECIMAL(10, 2),
  status STRING
) STORED AS KAFKA LOCATION 'kafka://localhost:9092/orders'
OPTIONS ('format' 'json');
CREATE VIEW v AS SELECT o.order_id
  FROM orders AS o
  WHERE o.status IN (SELECT x FROM (VALUES ('a'), ('b')) AS w(x) WHERE x > o.status LIMIT 1);
COPY v TO './out/v/' STORED AS PARQUET;
