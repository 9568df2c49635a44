CREATE EXTERNAL TABLE orders (
  order_id BIGINT,
  customer ROW<id BIGINT, country STRING>,
  lines ARRAY<ROW<sku STRING, qty INT>>,
  amount DECIMAL(10, 2),
  status STRING
) STORED AS KAFKA LOCATION 'kafka://localhost:9092/orders'
OPTIONS ('format' 'json');
CREATE VIEW v AS
  SELECT o.order_id, u.line
  FROM orders AS o CROSS JOIN UNNEST(o.lines) AS u(line);
COPY v TO './out/v/' STORED AS PARQUET;
