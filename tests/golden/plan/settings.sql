-- title: nothing is set
CREATE EXTERNAL TABLE orders (order_id BIGINT, customer ROW<id BIGINT, country STRING>, lines ARRAY<ROW<sku STRING, qty INT>>, status STRING)
STORED AS KAFKA LOCATION 'kafka://localhost:9092/orders' OPTIONS ('format' 'json');
-- plan:
-- pipeline.name = p (the file's name)

-- title: a name and a budget
SET 'pipeline.name' = 'shop';
SET 'budget.rows' = '1000';
SET 'budget.age' = '50ms';
-- plan:
-- pipeline.name = shop (SET, p.sql:1:5)
-- budget.rows = 1000 (SET, p.sql:2:5)
-- budget.age = 50 ms (SET, p.sql:3:5)

-- title: sizes and durations are shown in their largest unit
SET 'queue.bytes' = '1048576';
SET 'drain.deadline' = '120s';
-- plan:
-- pipeline.name = p (the file's name)
-- drain.deadline = 2 min (SET, p.sql:2:5)
-- queue.bytes = 1 MiB (SET, p.sql:1:5)
