-- Queries that keep the rows of one stream apart. One query a paragraph; tests/corpus/queries.py has the tables.

SELECT order_id FROM orders

SELECT order_id, amount * 2 AS twice, upper(status) AS status FROM orders

select ORDER_ID, STATUS from Orders where PRICE > 1.5

SELECT * FROM orders

SELECT o.* FROM orders AS o

SELECT orders.* FROM orders

SELECT public.orders.order_id FROM orders

SELECT order_id FROM public.orders

SELECT order_id FROM datafusion.public.orders

SELECT "orders"."order_id" FROM "orders"

SELECT O.order_id FROM orders O

SELECT "O".order_id FROM orders "O"

SELECT `order_id` FROM `orders`

SELECT *, price + 1 AS more FROM orders

SELECT 7 AS seven, * FROM orders

SELECT 1 AS a, o.*, 2 AS b FROM orders o

SELECT * EXCLUDE (price) FROM orders

SELECT * EXCLUDE price FROM orders

SELECT * EXCEPT (price, lines) FROM orders

SELECT o.* EXCLUDE (price, "Customer Id"), price FROM orders o

SELECT * REPLACE (price * 100 AS price) FROM orders

SELECT * EXCLUDE (lines) REPLACE (upper(status) AS status) FROM orders

SELECT * EXCLUDE (price), 1 AS one FROM orders

SELECT order_id, "Customer Id" AS customer_id FROM orders

SELECT order_id, "Customer Id" FROM orders WHERE "Customer Id" BETWEEN 2 AND 5

SELECT "we.ird"."Käse", "we.ird"."a b" FROM "Mixed Case" AS "we.ird"

SELECT "Käse" AS "Ñ", "a b" AS ß FROM "Mixed Case"

SELECT * FROM "Mixed Case"

SELECT order_id AS "select", status AS "from", price AS "end" FROM orders

SELECT order_id AS value, status AS key, price AS date, flag AS timestamp FROM orders

SELECT order_id id, status state, price cost FROM orders

SELECT order_id 'id', status AS 'state of it' FROM orders

SELECT -- the number, not *
  order_id
FROM orders -- , clicks

SELECT /* first, (second */ order_id /* nested /* deep, */ still */, status FROM orders

SELECT
	order_id,
	status
FROM
	orders
WHERE
	status IS NOT NULL

SELECT order_id, 'a; b, (c' AS t, 'it''s' AS u FROM orders

SELECT order_id, E'tab\tquote\'s' AS t, $$dollar 'quoted', $$ AS d, $x$ $$ $x$ AS e FROM orders

SELECT order_id, '日本, "é" from' AS s FROM orders WHERE note <> '😀'

SELECT order_id,
       status,
FROM orders

SELECT FROM orders

FROM orders SELECT order_id, status

FROM orders AS o SELECT o.*, 1 AS one

SELECT ALL order_id FROM orders

SELECT order_id FROM orders;

(SELECT order_id FROM orders)

((SELECT order_id FROM orders WHERE flag))

SELECT order_id FROM orders WHERE status <> 'TEST' AND (price > 1 OR flag) AND NOT flag

SELECT order_id FROM orders WHERE status IS DISTINCT FROM 'paid'

SELECT order_id FROM orders WHERE status IN ('paid', 'open') AND order_id NOT IN (4, 5)

SELECT order_id FROM orders WHERE status LIKE 'p%' OR status ILIKE 'OPEN' OR note NOT LIKE '%z'

SELECT order_id FROM orders WHERE status ~ '^p' AND status !~ 'x$' AND note ~* 'A' AND note !~* 'Q'

SELECT order_id FROM orders WHERE status SIMILAR TO 'pa%'

SELECT order_id, status || '-' || note AS joined, price % 2 AS m, -price AS neg FROM orders

SELECT order_id, order_id & 1 AS a, order_id | 8 AS b, order_id ^ 3 AS c, order_id << 2 AS d, order_id >> 1 AS e FROM orders

SELECT order_id, flag AND price > 1 AS both, flag OR NULL AS either, flag IS NOT TRUE AS n FROM orders

SELECT order_id, CASE status WHEN 'paid' THEN 1 WHEN 'open' THEN 2 END AS s, CASE WHEN price > 2 THEN 'big' ELSE 'small' END AS z FROM orders

SELECT order_id, coalesce(status, 'none') AS s, nullif(price, 1.5) AS p, greatest(price, 2) AS g FROM orders

SELECT order_id, CAST(price AS INT) AS i, price::bigint AS b, TRY_CAST(note AS INT) AS t, CAST(order_id AS VARCHAR) AS v FROM orders

SELECT order_id, arrow_cast(order_id, 'Int16') AS i, arrow_typeof(amount) AS t FROM orders

SELECT order_id, CAST(amount AS DECIMAL(20, 4)) AS d, amount::DECIMAL(38,2) AS e, CAST(placed AS TIMESTAMP(3)) AS m FROM orders

SELECT order_id, placed + INTERVAL '1' DAY AS t, placed - INTERVAL '5 minutes' AS s, placed + INTERVAL '1 year 2 months' AS y FROM orders

SELECT order_id, date_bin(INTERVAL '15 minutes', placed) AS bin, date_trunc('hour', placed) AS h, placed::date AS d FROM orders

SELECT order_id, EXTRACT(YEAR FROM placed) AS y, EXTRACT(EPOCH FROM placed) AS e, date_part('hour', placed) AS h FROM orders

SELECT order_id, placed AT TIME ZONE 'UTC' AS z, to_timestamp(0) AS epoch, DATE '2024-01-31' AS d, TIMESTAMP '2024-01-01 00:00:00' AS t FROM orders

SELECT order_id, substring(status FROM 2 FOR 2) AS s, trim(BOTH 'p' FROM status) AS t, position('a' IN status) AS p FROM orders

SELECT order_id, overlay(status PLACING 'x' FROM 1 FOR 1) AS o, left(status, 1) AS l, right(status, 1) AS r FROM orders

SELECT order_id, regexp_replace(status, 'a', 'b', 'g') AS r, regexp_like(status, '^p') AS l, split_part(note, ' ', 1) AS f FROM orders

SELECT order_id, ceil(price) AS c, floor(price) AS f, round(price, 1) AS r, abs(-price) AS a FROM orders

SELECT order_id, X'CAFE' AS h, encode(payload, 'hex') AS p, octet_length(note) AS n FROM orders

SELECT order_id, md5(status) AS h, sha256(payload) AS s FROM orders

SELECT order_id, tags[1] AS first, tags[-1] AS last, tags[1:2] AS two, array_length(tags) AS n FROM orders

SELECT order_id, lines[1]['sku'] AS sku, customer['name'] AS name, orders.customer.country AS country FROM orders

SELECT order_id, customer.name AS who, get_field(customer, 'country') AS c FROM orders

SELECT order_id, attrs['x'] AS x, map_keys(attrs) AS ks, map_values(attrs) AS vs FROM orders

SELECT order_id, {'id': order_id, 'in': {'status': status}} AS s, [1, order_id] AS l, MAP {'k': price} AS m FROM orders

SELECT order_id, named_struct('a', 1, 'b', status) AS s, struct(order_id, status) AS t, make_array(1, 2) AS l FROM orders

SELECT order_id, array_has(tags, 'a') AS h, tags @> ['a'] AS c, array_append(tags, 'z') AS z FROM orders

SELECT order_id, array_to_string(tags, ', ') AS t, cardinality(attrs) AS c, array_sort(tags) AS s FROM orders

SELECT order_id, unnest(tags) AS tag FROM orders

SELECT order_id, unnest(lines) AS line FROM orders

SELECT order_id, unnest(customer) FROM orders

SELECT unnest(tags) AS t, unnest([1, 2, 3]) AS n, order_id FROM orders

SELECT order_id, line['sku'] AS sku, line['qty'] * 2 AS q FROM (SELECT order_id, unnest(lines) AS line FROM orders) WHERE line['qty'] > 1

SELECT order_id, unnest(line) FROM (SELECT order_id, unnest(lines) AS line FROM orders) AS x

SELECT order_id, unnest(tags) AS tag, * EXCLUDE (order_id, tags) FROM orders

SELECT *, unnest(tags) AS tag FROM orders

SELECT o.order_id, c.label FROM orders AS o JOIN countries AS c ON o.customer['country'] = c.code

SELECT * FROM orders JOIN countries ON customer['country'] = code

SELECT c.*, o.* FROM countries c JOIN orders o ON o.customer['country'] = c.code

SELECT o.*, c.* FROM countries c JOIN orders o ON o.customer['country'] = c.code

SELECT o.order_id, c.label, s.cap FROM orders o LEFT JOIN countries c ON o.customer['country'] = c.code LEFT JOIN caps s ON s.status = o.status

SELECT o.order_id, s.cap FROM caps s RIGHT JOIN orders o ON s.status = o.status

SELECT order_id, cap FROM orders LEFT OUTER JOIN caps ON orders.status = caps.status WHERE cap IS NULL OR cap > 1

SELECT order_id, cap FROM orders CROSS JOIN caps

SELECT order_id, cap FROM orders, caps WHERE orders.status = caps.status

SELECT order_id, cap FROM caps, orders

SELECT order_id, status, cap FROM orders JOIN caps USING (status)

SELECT * FROM orders JOIN caps USING (status)

SELECT * FROM caps JOIN orders USING (status)

SELECT * FROM orders NATURAL JOIN caps

SELECT *, 1 AS one FROM caps NATURAL JOIN orders

SELECT caps.*, orders.* FROM caps JOIN orders USING (status)

SELECT * EXCLUDE (cap, code, label) FROM clicks LEFT JOIN (SELECT code, label, 1 AS cap FROM countries) c ON c.code = url UNION ALL SELECT * FROM clicks

SELECT order_id FROM orders LEFT SEMI JOIN caps ON orders.status = caps.status

SELECT * FROM orders LEFT ANTI JOIN caps ON orders.status = caps.status

SELECT order_id FROM caps RIGHT SEMI JOIN orders ON orders.status = caps.status

SELECT * FROM caps RIGHT ANTI JOIN orders ON orders.status = caps.status

SELECT order_id, label FROM (orders JOIN countries ON customer['country'] = code)

SELECT j.order_id, j.label FROM (orders o JOIN countries c ON o.customer['country'] = c.code) AS j

SELECT order_id, label, cap FROM (orders JOIN countries ON customer['country'] = code) JOIN caps ON caps.status = orders.status

SELECT order_id, v.name FROM orders JOIN (VALUES ('paid', 'Paid!'), ('open', 'Open!')) AS v(status, name) ON orders.status = v.status

SELECT order_id, g.value FROM orders CROSS JOIN range(0, 3) AS g

SELECT order_id, u.n FROM orders CROSS JOIN UNNEST([10, 20]) AS u(n)

SELECT order_id, l.cap FROM orders, LATERAL (SELECT cap FROM caps WHERE caps.status = orders.status) AS l

SELECT order_id, l.cap FROM orders LEFT JOIN LATERAL (SELECT cap FROM caps WHERE caps.status = orders.status) AS l ON true

SELECT order_id FROM orders WHERE status IN (SELECT status FROM caps)

SELECT order_id FROM orders WHERE status NOT IN (SELECT status FROM caps WHERE status IS NOT NULL)

SELECT order_id FROM orders WHERE EXISTS (SELECT 1 FROM caps WHERE caps.status = orders.status AND cap > 1)

SELECT order_id FROM orders o WHERE NOT EXISTS (SELECT 1 FROM caps WHERE caps.status = o.status)

SELECT order_id, (SELECT max(cap) FROM caps) AS top, (SELECT count(*) FROM caps c WHERE c.status = o.status) AS n FROM orders o

SELECT order_id FROM orders WHERE price > (SELECT avg(cap) FROM (SELECT DISTINCT cap FROM caps ORDER BY cap LIMIT 1))

SELECT o.order_id, c.n FROM orders o JOIN (SELECT status, count(*) AS n FROM caps GROUP BY status) c ON c.status = o.status

SELECT o.order_id, c.r FROM orders o JOIN (SELECT status, row_number() OVER (ORDER BY cap, status) AS r FROM caps) c USING (status)

SELECT order_id FROM orders JOIN (SELECT status FROM caps UNION SELECT 'x' EXCEPT SELECT 'y') u USING (status)

WITH paid AS (SELECT * FROM orders WHERE status = 'paid') SELECT order_id FROM paid

WITH paid AS (SELECT order_id, status FROM orders) SELECT * FROM paid

WITH a AS (SELECT * FROM orders), b AS (SELECT order_id, tags FROM a), c AS (SELECT order_id, unnest(tags) AS tag FROM b) SELECT * FROM c WHERE tag <> 'b'

WITH c(id, st) AS (SELECT order_id, status FROM orders) SELECT id, st FROM c

WITH c("Id", "S t") AS (SELECT order_id, status FROM orders) SELECT * FROM c

WITH c AS (SELECT order_id FROM orders), d AS (SELECT order_id FROM clicks) SELECT * FROM d

WITH caps AS (SELECT status, cap * 2 AS cap FROM public.caps) SELECT order_id, cap FROM orders JOIN caps USING (status)

WITH orders AS (SELECT order_id AS id FROM public.orders) SELECT id FROM orders

WITH "Orders" AS (SELECT 1 AS order_id) SELECT order_id FROM orders

WITH never AS (SELECT count(*) AS n FROM orders GROUP BY status) SELECT order_id FROM orders

WITH t AS (SELECT status, sum(cap) AS total FROM caps GROUP BY status HAVING sum(cap) > 0 ORDER BY status LIMIT 5) SELECT order_id, total FROM orders LEFT JOIN t USING (status)

WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT order_id, i FROM orders CROSS JOIN n

WITH a AS (WITH b AS (SELECT order_id, price FROM orders) SELECT * FROM b WHERE price > 1) SELECT a.order_id FROM a

SELECT x.id FROM (SELECT order_id, status FROM orders) AS x(id, st)

SELECT p.a AS order_id, p.b FROM clicks AS p(a, b)

SELECT * FROM (SELECT * FROM (SELECT order_id, status, price FROM orders WHERE price > 1) i WHERE status IS NULL OR TRUE) o

SELECT * FROM (WITH w AS (SELECT order_id, status FROM orders) SELECT w.*, 1 AS one FROM w) AS q

SELECT q.* FROM (SELECT o.*, c.label FROM orders o JOIN countries c ON o.customer['country'] = c.code) AS q

SELECT order_id, status FROM orders WHERE flag UNION ALL SELECT order_id, status FROM orders WHERE NOT flag

SELECT * FROM orders UNION ALL SELECT * FROM orders

SELECT *, 1 AS z FROM clicks UNION ALL SELECT order_id, url, 2 FROM clicks

SELECT order_id, status AS what FROM orders UNION ALL SELECT order_id, url FROM clicks

(SELECT order_id FROM orders) UNION ALL (SELECT order_id FROM clicks UNION ALL SELECT order_id FROM orders)

SELECT order_id FROM orders UNION ALL SELECT order_id FROM clicks UNION ALL SELECT order_id + 1 FROM orders UNION ALL SELECT 0 FROM clicks

SELECT order_id, url FROM clicks UNION ALL BY NAME SELECT url, order_id FROM clicks

SELECT * FROM (SELECT order_id FROM orders UNION ALL SELECT order_id FROM clicks) AS u(id) WHERE id > 1

WITH u AS (SELECT order_id, 'o' AS side FROM orders UNION ALL SELECT order_id, 'c' FROM clicks) SELECT side, order_id FROM u WHERE order_id > 1

SELECT * EXCLUDE url FROM clicks UNION ALL SELECT order_id FROM orders

SELECT payload, _twg_source_offset FROM raw.orders

SELECT raw.orders.payload FROM raw.orders WHERE raw.orders._twg_source_offset > 2

SELECT r.* FROM "raw"."orders" r

SELECT order_id, '_twg_row' AS lit, named_struct('_twg_row', 1) AS s FROM orders

SELECT order_id AS "_TWG_ROW", status AS _twg_rows FROM orders

SELECT order_id, random() < 2 AS r, now() > TIMESTAMP '2000-01-01 00:00:00' AS n FROM orders
