CREATE EXTERNAL TABLE orders (
  order_id BIGINT,
  customer ROW<id BIGINT, country STRING>,
  lines ARRAY<ROW<sku STRING, qty INT>>,
  amount DECIMAL(10, 2),
  status STRING
) STORED AS KAFKA LOCATION 'pulsar://localhost:6650/orders'
OPTIONS ('format' 'json');
COPY orders TO './out/orders/' STORED AS PARQUET;
