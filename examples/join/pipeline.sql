-- Orders from a topic, joined with a file of countries that is read beside this pipeline.

SET 'pipeline.name' = 'named-orders';

CREATE EXTERNAL TABLE orders (order_id BIGINT NOT NULL, country STRING, amount DECIMAL(10, 2))
STORED AS KAFKA LOCATION 'kafka://embedded/orders'
OPTIONS ('format' 'json', 'embedded.data' 'orders.jsonl', 'scan.bounded.mode' 'latest-offset');

CREATE EXTERNAL TABLE countries (code VARCHAR, name VARCHAR, currency VARCHAR)
STORED AS CSV LOCATION 'countries.csv' OPTIONS ('format.has_header' 'true');

-- A left join keeps orders whose country is unknown; an inner join would leave them out.
CREATE VIEW named AS
SELECT o.order_id, o.amount, coalesce(c.name, 'unknown') AS country, c.currency
FROM orders AS o LEFT JOIN countries AS c ON c.code = o.country;

COPY named TO './out/named/' STORED AS PARQUET;
