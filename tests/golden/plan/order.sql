-- title: views are sorted by what they read
CREATE VIEW c AS SELECT * FROM b;
CREATE VIEW b AS SELECT * FROM a;
CREATE EXTERNAL TABLE orders (order_id BIGINT, customer ROW<id BIGINT, country STRING>, lines ARRAY<ROW<sku STRING, qty INT>>, status STRING)
STORED AS KAFKA LOCATION 'kafka://localhost:9092/orders' OPTIONS ('format' 'json');
CREATE VIEW a AS SELECT order_id FROM orders;
-- plan:
-- a b c

-- title: a diamond
CREATE EXTERNAL TABLE orders (order_id BIGINT, customer ROW<id BIGINT, country STRING>, lines ARRAY<ROW<sku STRING, qty INT>>, status STRING)
STORED AS KAFKA LOCATION 'kafka://localhost:9092/orders' OPTIONS ('format' 'json');
CREATE VIEW bottom AS SELECT * FROM left_side UNION ALL SELECT * FROM right_side;
CREATE VIEW left_side AS SELECT order_id FROM top_view;
CREATE VIEW right_side AS SELECT order_id FROM top_view;
CREATE VIEW top_view AS SELECT order_id FROM orders;
-- plan:
-- top_view left_side right_side bottom

-- title: queries of COPYs come after their views
CREATE EXTERNAL TABLE orders (order_id BIGINT, customer ROW<id BIGINT, country STRING>, lines ARRAY<ROW<sku STRING, qty INT>>, status STRING)
STORED AS KAFKA LOCATION 'kafka://localhost:9092/orders' OPTIONS ('format' 'json');
COPY (SELECT order_id FROM v) TO './a/' STORED AS PARQUET;
CREATE VIEW v AS SELECT order_id FROM orders;
-- plan:
-- v copy_1

-- title: a name of a WITH hides a view
CREATE EXTERNAL TABLE orders (order_id BIGINT, customer ROW<id BIGINT, country STRING>, lines ARRAY<ROW<sku STRING, qty INT>>, status STRING)
STORED AS KAFKA LOCATION 'kafka://localhost:9092/orders' OPTIONS ('format' 'json');
CREATE VIEW v AS SELECT order_id FROM orders;
CREATE VIEW w AS WITH v AS (SELECT status FROM orders) SELECT status FROM v;
-- plan:
-- v w
