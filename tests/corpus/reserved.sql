-- Uses of the hidden column's name: what the error must point at.

-- _twg_row FROM
SELECT _twg_row FROM orders

-- _twg_row FROM
SELECT order_id AS _twg_row FROM orders

-- _TWG_Row FROM
SELECT order_id AS _TWG_Row FROM orders

-- "_twg_row" FROM
SELECT order_id AS "_twg_row" FROM orders

-- '_twg_row' FROM
SELECT order_id '_twg_row' FROM orders

-- '_twg_row' FROM
SELECT order_id AS '_twg_row' FROM orders

-- _twg_row) FROM
SELECT * EXCLUDE (_twg_row) FROM orders

-- _twg_row) WHERE
SELECT x FROM (SELECT order_id FROM orders) AS t(_twg_row) WHERE true

-- _twg_row AS (
WITH _twg_row AS (SELECT 1) SELECT * FROM _twg_row

-- _twg_row > 1
SELECT order_id FROM orders WHERE orders._twg_row > 1

-- _twg_row
SELECT cap FROM caps ORDER BY _twg_row

-- _twg_row
SELECT order_id FROM orders |> WHERE _twg_row > 1
