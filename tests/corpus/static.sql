-- Queries that read no stream: all of SQL is allowed, and nothing is spliced in.

SELECT status, sum(cap) AS total FROM caps GROUP BY status HAVING sum(cap) > 1 ORDER BY total DESC LIMIT 3

SELECT 1

SELECT DISTINCT label FROM countries

SELECT c.label, row_number() OVER (ORDER BY c.code) AS n FROM countries c FULL JOIN caps ON true

VALUES (1, 'a'), (2, 'b')

WITH orders AS (SELECT status FROM caps) SELECT count(*) FROM orders

WITH ORDERS AS (SELECT status FROM caps) SELECT * FROM orders UNION SELECT code FROM countries

SELECT order_id FROM "ORDERS"

SELECT order_id FROM other.orders

SELECT value FROM generate_series(1, 5) AS g(value)

WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 10) SELECT sum(i) FROM n

SELECT status FROM caps EXCEPT SELECT code FROM countries
