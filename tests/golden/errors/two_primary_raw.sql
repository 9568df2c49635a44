CREATE EXTERNAL TABLE orders (
  order_id BIGINT,
  customer ROW<id BIGINT, country STRING>,
  lines ARRAY<ROW<sku STRING, qty INT>>,
  amount DECIMAL(10, 2),
  status STRING
) STORED AS KAFKA LOCATION 'kafka://localhost:9092/orders'
OPTIONS ('format' 'json');
COPY raw.orders TO './out/a/' STORED AS PARQUET OPTIONS ('role' 'primary_raw');
COPY raw.orders TO './out/b/' STORED AS PARQUET OPTIONS ('role' 'primary_raw');
