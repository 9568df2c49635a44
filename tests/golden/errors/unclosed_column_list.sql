CREATE EXTERNAL TABLE orders (
  order_id BIGINT,
  status STRING
STORED AS KAFKA LOCATION 'kafka://localhost:9092/orders'
OPTIONS ('format' 'json');
COPY orders TO './out/orders/' STORED AS PARQUET;
