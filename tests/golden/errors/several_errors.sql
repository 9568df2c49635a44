SET 'pipline.name' = 'x';
CREATE EXTERNAL TABLE orders (
  order_id BIGINT,
  customer ROW<id BIGINT, country STRING>,
  lines ARRAY<ROW<sku STRING, qty INT>>,
  amount DECIMAL(10, 2),
  status STRING
) STORED AS KAFKA LOCATION 'kafka://localhost:9092/orders'
OPTIONS ('format' 'json', 'scan.startup.mod' 'earliest-offset', 'bad_data' 'skip');
CREATE VIEW v AS SELECT order_id FROM ordres;
CREATE VIEW w AS SELECT order_id FROM orders LIMIT 3;
COPY v TO 'gopher://x/' STORED AS PARQUET;
COPY w TO './out/w/' STORED AS PARQUET;
