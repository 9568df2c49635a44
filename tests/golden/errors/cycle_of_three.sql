CREATE EXTERNAL TABLE orders (
  order_id BIGINT,
  customer ROW<id BIGINT, country STRING>,
  lines ARRAY<ROW<sku STRING, qty INT>>,
  amount DECIMAL(10, 2),
  status STRING
) STORED AS KAFKA LOCATION 'kafka://localhost:9092/orders'
OPTIONS ('format' 'json');
CREATE VIEW a AS SELECT order_id FROM c;
CREATE VIEW b AS SELECT order_id FROM a;
CREATE VIEW c AS SELECT order_id FROM b;
COPY a TO './out/a/' STORED AS PARQUET;
