-- title: one target
CREATE EXTERNAL TABLE orders (order_id BIGINT, customer ROW<id BIGINT, country STRING>, lines ARRAY<ROW<sku STRING, qty INT>>, status STRING)
STORED AS KAFKA LOCATION 'kafka://localhost:9092/orders' OPTIONS ('format' 'json');
COPY orders TO './a/' STORED AS PARQUET;
-- plan:
-- orders gates

-- title: several targets, one of them primary raw
CREATE EXTERNAL TABLE orders (order_id BIGINT, customer ROW<id BIGINT, country STRING>, lines ARRAY<ROW<sku STRING, qty INT>>, status STRING)
STORED AS KAFKA LOCATION 'kafka://localhost:9092/orders' OPTIONS ('format' 'json');
COPY orders TO './a/' STORED AS PARQUET;
COPY raw.orders TO './b/' STORED AS PARQUET OPTIONS ('role' 'primary_raw');
-- plan:
-- orders gates
-- raw.orders gates

-- title: a console beside a file
CREATE EXTERNAL TABLE orders (order_id BIGINT, customer ROW<id BIGINT, country STRING>, lines ARRAY<ROW<sku STRING, qty INT>>, status STRING)
STORED AS KAFKA LOCATION 'kafka://localhost:9092/orders' OPTIONS ('format' 'json');
COPY orders TO 'console://' STORED AS CONSOLE;
COPY orders TO './a/' STORED AS PARQUET;
-- plan:
-- orders follows
-- orders_2 gates

-- title: a console alone, with dead letters
CREATE EXTERNAL TABLE orders (order_id BIGINT, customer ROW<id BIGINT, country STRING>, lines ARRAY<ROW<sku STRING, qty INT>>, status STRING)
STORED AS KAFKA LOCATION 'kafka://localhost:9092/orders' OPTIONS ('format' 'json');
COPY orders TO 'console://' STORED AS CONSOLE;
COPY dlq.all TO './a/' STORED AS PARQUET;
-- plan:
-- orders gates
-- dlq.all gates
