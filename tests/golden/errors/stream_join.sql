CREATE EXTERNAL TABLE orders (
  order_id BIGINT,
  customer ROW<id BIGINT, country STRING>,
  lines ARRAY<ROW<sku STRING, qty INT>>,
  amount DECIMAL(10, 2),
  status STRING
) STORED AS KAFKA LOCATION 'kafka://localhost:9092/orders'
OPTIONS ('format' 'json');
CREATE EXTERNAL TABLE clicks (order_id BIGINT, url STRING)
STORED AS KAFKA LOCATION 'kafka://localhost:9092/clicks'
OPTIONS ('format' 'json');
CREATE VIEW v AS SELECT o.order_id, c.url FROM orders o JOIN clicks c ON c.order_id = o.order_id;
COPY v TO './out/v/' STORED AS PARQUET;
