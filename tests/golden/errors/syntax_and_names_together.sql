CREATE EXTERNAL TABLE orders (
  order_id BIGINT,
  customer ROW<id BIGINT, country STRING>,
  lines ARRAY<ROW<sku STRING, qty INT>>,
  amount DECIMAL(10, 2),
  status STRING
) STORED AS KAFKA LOCATION 'kafka://localhost:9092/orders'
OPTIONS ('format' 'json');
CREATE VIEW v SELECT order_id FROM orders;
CREATE VIEW w AS SELECT order_id FROM ordres;
COPY w TO './out/w/' STORED AS PARQET;
