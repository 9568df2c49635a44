-- Queries that are refused over a stream: what the reason must name, @ and the text that the error must point at.

-- GROUP BY @ GROUP BY status
SELECT status, count(*) FROM orders GROUP BY status

-- GROUP BY @ GROUP BY ALL
SELECT status FROM orders GROUP BY ALL

-- GROUP BY @ GROUP BY ROLLUP
SELECT status, sum(price) FROM orders GROUP BY ROLLUP (status)

-- GROUP BY @ GROUP BY status)
WITH t AS (SELECT status, count(*) AS n FROM orders GROUP BY status) SELECT * FROM t

-- GROUP BY @ GROUP BY order_id) AS n
SELECT n.order_id FROM (SELECT order_id FROM orders GROUP BY order_id) AS n WHERE n.order_id > 1

-- DISTINCT @ DISTINCT status
SELECT DISTINCT status FROM orders

-- DISTINCT @ DISTINCT ON
SELECT DISTINCT ON (status) status, price FROM orders

-- DISTINCT @ DISTINCT order_id FROM orders) x
SELECT x.order_id FROM (SELECT DISTINCT order_id FROM orders) x

-- ORDER BY @ ORDER BY price
SELECT order_id FROM orders ORDER BY price DESC

-- ORDER BY @ ORDER BY order_id) o
SELECT * FROM (SELECT order_id FROM orders ORDER BY order_id) o

-- ORDER BY @ ORDER BY 1
SELECT order_id FROM orders UNION ALL SELECT order_id FROM clicks ORDER BY 1

-- LIMIT @ LIMIT 5
SELECT order_id FROM orders LIMIT 5

-- LIMIT @ LIMIT 5) AS five
SELECT * FROM (SELECT order_id FROM orders LIMIT 5) AS five

-- LIMIT @ LIMIT 2
(SELECT order_id FROM orders) LIMIT 2

-- LIMIT @ LIMIT 3
SELECT order_id FROM orders UNION ALL SELECT order_id FROM clicks LIMIT 3

-- LIMIT @ FETCH FIRST
SELECT order_id FROM orders FETCH FIRST 3 ROWS ONLY

-- OFFSET @ OFFSET 2
SELECT order_id FROM orders OFFSET 2

-- aggregate count @ count(*)
SELECT count(*) FROM orders

-- aggregate max @ MAX(price)
SELECT 1 + MAX(price) AS top FROM orders

-- aggregate sum @ "sum"(price)
SELECT "sum"(price) AS s FROM orders

-- aggregate array_agg @ array_agg(o.status)
SELECT array_agg(o.status) AS all_of_them FROM orders o JOIN caps c USING (status)

-- aggregate approx_distinct @ approx_distinct
SELECT upper(CAST(approx_distinct(status) AS VARCHAR)) FROM orders

-- aggregate @ approx_percentile_cont
SELECT approx_percentile_cont(0.5) WITHIN GROUP (ORDER BY price) FROM orders

-- aggregate @ count(*)
SELECT count(*) FILTER (WHERE flag) FROM orders

-- aggregate @ first_value
SELECT first_value(price ORDER BY placed) FROM orders

-- HAVING @ HAVING
SELECT 1 FROM orders HAVING count(*) > 1

-- window function @ row_number
SELECT order_id, row_number() OVER (ORDER BY placed) AS n FROM orders

-- window function @ lag(price)
SELECT order_id, price - lag(price) OVER (PARTITION BY status ORDER BY placed) AS step FROM orders

-- window function @ sum(price)
SELECT order_id, sum(price) OVER w AS running FROM orders WINDOW w AS (ORDER BY placed)

-- QUALIFY @ QUALIFY
SELECT order_id FROM orders QUALIFY row_number() OVER (PARTITION BY status ORDER BY placed) = 1

-- UNION compares @ UNION SELECT
SELECT order_id FROM orders UNION SELECT order_id FROM clicks

-- UNION compares @ UNION DISTINCT
SELECT order_id FROM orders UNION DISTINCT SELECT order_id FROM orders

-- EXCEPT compares @ EXCEPT
SELECT order_id FROM orders EXCEPT SELECT order_id FROM clicks

-- INTERSECT compares @ INTERSECT
SELECT status FROM orders INTERSECT SELECT status FROM caps

-- UNION compares @ UNION SELECT
SELECT cap FROM caps UNION SELECT order_id FROM orders

-- UNION ALL reads no stream @ SELECT status FROM caps
SELECT status FROM orders UNION ALL SELECT status FROM caps

-- UNION ALL reads no stream @ SELECT 0
SELECT 0 UNION ALL SELECT order_id FROM orders

-- join of two streams @ JOIN clicks
SELECT o.order_id FROM orders o JOIN clicks c ON c.order_id = o.order_id

-- join of two streams @ clicks c
SELECT o.order_id FROM orders o, clicks c WHERE c.order_id = o.order_id

-- join of two streams @ LEFT JOIN orders
SELECT a.order_id FROM orders a LEFT JOIN orders b ON a.order_id = b.order_id

-- join of two streams @ CROSS JOIN raw.orders
SELECT a.order_id FROM orders a CROSS JOIN raw.orders

-- join of two streams @ JOIN t AS v
WITH t AS (SELECT order_id FROM orders) SELECT u.order_id FROM t AS u JOIN t AS v USING (order_id)

-- join of two streams @ JOIN (SELECT order_id FROM clicks
SELECT o.order_id FROM (orders o JOIN caps USING (status)) JOIN (SELECT order_id FROM clicks) c ON c.order_id = o.order_id

-- FULL JOIN @ FULL JOIN
SELECT order_id, cap FROM orders FULL JOIN caps USING (status)

-- LEFT JOIN @ LEFT JOIN orders
SELECT order_id, cap FROM caps LEFT JOIN orders USING (status)

-- RIGHT JOIN @ RIGHT OUTER JOIN caps
SELECT order_id, cap FROM orders RIGHT OUTER JOIN caps USING (status)

-- LEFT SEMI JOIN @ LEFT SEMI JOIN
SELECT cap FROM caps LEFT SEMI JOIN orders USING (status)

-- RIGHT ANTI JOIN @ RIGHT ANTI JOIN
SELECT cap FROM orders RIGHT ANTI JOIN caps ON orders.status = caps.status

-- subquery in an expression @ IN (SELECT status FROM orders
SELECT cap FROM caps WHERE status IN (SELECT status FROM orders)

-- subquery in an expression @ IN (SELECT order_id FROM clicks
SELECT order_id FROM orders WHERE order_id NOT IN (SELECT order_id FROM clicks)

-- subquery in an expression @ (SELECT avg(price)
SELECT order_id FROM orders WHERE price > (SELECT avg(price) FROM orders)

-- subquery in an expression @ (SELECT max(price)
SELECT order_id, (SELECT max(price) FROM orders) AS top FROM orders

-- subquery in an expression @ EXISTS
SELECT order_id FROM orders o WHERE EXISTS (SELECT 1 FROM clicks c WHERE c.order_id = o.order_id)

-- subquery in an expression @ (SELECT count(*)
SELECT cap, CASE WHEN (SELECT count(*) FROM orders) > 1 THEN 1 END AS x FROM caps

-- LATERAL @ SELECT order_id
SELECT cap, l.order_id FROM caps, LATERAL (SELECT order_id FROM orders WHERE orders.status = caps.status) l

-- recursive CTE @ r AS (
WITH RECURSIVE r AS (SELECT order_id AS n FROM orders UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT n FROM r

-- TABLESAMPLE @ TABLESAMPLE
SELECT order_id FROM orders TABLESAMPLE BERNOULLI (50)

-- ILIKE @ ILIKE
SELECT * ILIKE 'p%' FROM orders

-- AGGREGATE @ AGGREGATE
SELECT order_id FROM orders |> AGGREGATE count(*)

-- LIMIT @ LIMIT 3
SELECT order_id FROM orders |> LIMIT 3

-- UNION ALL reads no stream @ SELECT 1)
WITH never AS (SELECT order_id FROM clicks UNION ALL SELECT 1) SELECT order_id FROM orders
