-- title: projection and filter
CREATE EXTERNAL TABLE orders (order_id BIGINT, customer ROW<id BIGINT, country STRING>, lines ARRAY<ROW<sku STRING, qty INT>>, status STRING)
STORED AS KAFKA LOCATION 'kafka://localhost:9092/orders' OPTIONS ('format' 'json');
CREATE VIEW v AS SELECT order_id, upper(status) AS s FROM orders WHERE status <> 'TEST';
-- plan:
-- v reads orders; inlined; SELECT order_id, upper(status) AS s, "orders"."_twg_row" FROM orders WHERE status <> 'TEST'

-- title: unnest of a list
CREATE EXTERNAL TABLE orders (order_id BIGINT, customer ROW<id BIGINT, country STRING>, lines ARRAY<ROW<sku STRING, qty INT>>, status STRING)
STORED AS KAFKA LOCATION 'kafka://localhost:9092/orders' OPTIONS ('format' 'json');
CREATE VIEW v AS SELECT order_id, l['sku'] AS sku, l['qty'] AS qty FROM (SELECT order_id, unnest(lines) AS l FROM orders);
-- plan:
-- v reads orders; inlined; SELECT order_id, l['sku'] AS sku, l['qty'] AS qty, "_twg_row" FROM (SELECT order_id, unnest(lines) AS l, "orders"."_twg_row" FROM orders)

-- title: a star
CREATE EXTERNAL TABLE orders (order_id BIGINT, customer ROW<id BIGINT, country STRING>, lines ARRAY<ROW<sku STRING, qty INT>>, status STRING)
STORED AS KAFKA LOCATION 'kafka://localhost:9092/orders' OPTIONS ('format' 'json');
CREATE VIEW v AS SELECT * FROM orders;
-- plan:
-- v reads orders; inlined; SELECT * FROM orders

-- title: two readers share a node
CREATE EXTERNAL TABLE orders (order_id BIGINT, customer ROW<id BIGINT, country STRING>, lines ARRAY<ROW<sku STRING, qty INT>>, status STRING)
STORED AS KAFKA LOCATION 'kafka://localhost:9092/orders' OPTIONS ('format' 'json');
CREATE VIEW v AS SELECT order_id, status FROM orders;
CREATE VIEW w AS SELECT order_id FROM v;
CREATE VIEW x AS SELECT status FROM v;
-- plan:
-- v reads orders; shared; SELECT order_id, status, "orders"."_twg_row" FROM orders
-- w reads v; inlined; SELECT order_id, "v"."_twg_row" FROM v
-- x reads v; inlined; SELECT status, "v"."_twg_row" FROM v

-- title: a CTE and a subquery
CREATE EXTERNAL TABLE orders (order_id BIGINT, customer ROW<id BIGINT, country STRING>, lines ARRAY<ROW<sku STRING, qty INT>>, status STRING)
STORED AS KAFKA LOCATION 'kafka://localhost:9092/orders' OPTIONS ('format' 'json');
CREATE VIEW v AS WITH n AS (SELECT order_id, status FROM orders WHERE status IS NOT NULL) SELECT order_id FROM (SELECT order_id FROM n) AS q;
-- plan:
-- v reads orders; inlined; WITH n AS (SELECT order_id, status, "orders"."_twg_row" FROM orders WHERE status IS NOT NULL) SELECT order_id, "q"."_twg_row" FROM (SELECT order_id, "n"."_twg_row" FROM n) AS q

-- title: UNION ALL of one stream
CREATE EXTERNAL TABLE orders (order_id BIGINT, customer ROW<id BIGINT, country STRING>, lines ARRAY<ROW<sku STRING, qty INT>>, status STRING)
STORED AS KAFKA LOCATION 'kafka://localhost:9092/orders' OPTIONS ('format' 'json');
CREATE VIEW v AS SELECT order_id FROM orders UNION ALL SELECT customer['id'] FROM orders;
-- plan:
-- v reads orders; inlined; SELECT order_id, "orders"."_twg_row" FROM orders UNION ALL SELECT customer['id'], "orders"."_twg_row" FROM orders

-- title: a static view
CREATE EXTERNAL TABLE orders (order_id BIGINT, customer ROW<id BIGINT, country STRING>, lines ARRAY<ROW<sku STRING, qty INT>>, status STRING)
STORED AS KAFKA LOCATION 'kafka://localhost:9092/orders' OPTIONS ('format' 'json');
CREATE VIEW v AS SELECT 1 AS one GROUP BY one;
-- plan:
-- v reads ; inlined; static

-- title: rows that are not traced
CREATE EXTERNAL TABLE orders (order_id BIGINT, customer ROW<id BIGINT, country STRING>, lines ARRAY<ROW<sku STRING, qty INT>>, status STRING)
STORED AS KAFKA LOCATION 'kafka://localhost:9092/orders' OPTIONS ('format' 'json');
CREATE VIEW one AS SELECT 1 AS k;
CREATE VIEW v AS SELECT x.a AS order_id FROM (orders AS o CROSS JOIN one) AS x(a, b, c, d, e);
CREATE VIEW w AS SELECT order_id FROM v;
-- plan:
-- one reads ; inlined; static
-- v reads orders, one; inlined; column names over joins in parentheses leave no place for a row number
-- w reads v; inlined; it reads v, whose rows are not traced

-- title: the raw lane
CREATE EXTERNAL TABLE orders (order_id BIGINT, customer ROW<id BIGINT, country STRING>, lines ARRAY<ROW<sku STRING, qty INT>>, status STRING)
STORED AS KAFKA LOCATION 'kafka://localhost:9092/orders' OPTIONS ('format' 'json');
CREATE VIEW v AS SELECT encode(payload, 'hex') AS bytes FROM raw.orders;
-- plan:
-- v reads raw.orders; inlined; SELECT encode(payload, 'hex') AS bytes, "raw"."orders"."_twg_row" FROM raw.orders

-- title: names of all kinds
CREATE EXTERNAL TABLE orders (order_id BIGINT, customer ROW<id BIGINT, country STRING>, lines ARRAY<ROW<sku STRING, qty INT>>, status STRING)
STORED AS KAFKA LOCATION 'kafka://localhost:9092/orders' OPTIONS ('format' 'json');
CREATE VIEW "V 1" AS SELECT order_id AS "Id", status AS "a.b", customer['country'] AS "naïve" FROM orders;
-- plan:
-- V 1 reads orders; inlined; SELECT order_id AS "Id", status AS "a.b", customer['country'] AS "naïve", "orders"."_twg_row" FROM orders
