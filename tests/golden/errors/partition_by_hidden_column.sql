CREATE EXTERNAL TABLE orders (
  order_id BIGINT,
  customer ROW<id BIGINT, country STRING>,
  lines ARRAY<ROW<sku STRING, qty INT>>,
  amount DECIMAL(10, 2),
  status STRING
) STORED AS KAFKA LOCATION 'kafka://localhost:9092/orders'
OPTIONS ('format' 'json');
COPY orders TO './out/orders/' STORED AS PARQUET PARTITIONED BY (_twg_source_topic);
