-- title: a table, its raw lane and its dead letters
CREATE EXTERNAL TABLE orders (order_id BIGINT, customer ROW<id BIGINT, country STRING>, lines ARRAY<ROW<sku STRING, qty INT>>, status STRING)
STORED AS KAFKA LOCATION 'kafka://localhost:9092/orders' OPTIONS ('format' 'json');
COPY orders TO './a/' STORED AS PARQUET;
COPY raw.orders TO './b/' STORED AS PARQUET;
COPY dlq.orders TO './c/' STORED AS PARQUET;
-- plan:
-- orders <- orders: PARQUET ./a/ locator 8
-- raw.orders <- raw.orders: PARQUET ./b/ all 22
-- dlq.orders <- dlq.orders: PARQUET ./c/ all 28

-- title: the same relation twice
CREATE EXTERNAL TABLE orders (order_id BIGINT, customer ROW<id BIGINT, country STRING>, lines ARRAY<ROW<sku STRING, qty INT>>, status STRING)
STORED AS KAFKA LOCATION 'kafka://localhost:9092/orders' OPTIONS ('format' 'json');
COPY orders TO './a/' STORED AS PARQUET;
COPY orders TO './b/' STORED AS PARQUET OPTIONS ('metadata' 'none');
COPY orders TO './c/' STORED AS PARQUET OPTIONS ('metadata' 'all');
-- plan:
-- orders <- orders: PARQUET ./a/ locator 8
-- orders_2 <- orders: PARQUET ./b/ none 4
-- orders_3 <- orders: PARQUET ./c/ all 25

-- title: queries are numbered
CREATE EXTERNAL TABLE orders (order_id BIGINT, customer ROW<id BIGINT, country STRING>, lines ARRAY<ROW<sku STRING, qty INT>>, status STRING)
STORED AS KAFKA LOCATION 'kafka://localhost:9092/orders' OPTIONS ('format' 'json');
COPY (SELECT status FROM orders) TO './a/' STORED AS PARQUET;
COPY (SELECT order_id FROM orders) TO './b/' STORED AS PARQUET;
-- plan:
-- copy_1 <- copy_1: PARQUET ./a/ locator 5
-- copy_2 <- copy_2: PARQUET ./b/ locator 5

-- title: unresolved columns
CREATE EXTERNAL TABLE orders
STORED AS KAFKA LOCATION 'kafka://localhost:9092/orders' OPTIONS ('format' 'avro-confluent', 'avro-confluent.url' 'http://localhost:8081');
COPY orders TO './a/' STORED AS PARQUET;
-- plan:
-- orders <- orders: PARQUET ./a/ locator unresolved

-- title: a console
CREATE EXTERNAL TABLE orders (order_id BIGINT, customer ROW<id BIGINT, country STRING>, lines ARRAY<ROW<sku STRING, qty INT>>, status STRING)
STORED AS KAFKA LOCATION 'kafka://localhost:9092/orders' OPTIONS ('format' 'json');
COPY orders TO 'console://' STORED AS CONSOLE;
-- plan:
-- orders <- orders: CONSOLE console:// locator 8
