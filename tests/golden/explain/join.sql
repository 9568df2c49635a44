CREATE EXTERNAL TABLE orders (order_id BIGINT NOT NULL, country STRING, place BIGINT METADATA FROM 'offset')
STORED AS KAFKA LOCATION 'kafka://broker-1:9092,broker-2:9092/orders' OPTIONS ('format' 'json', 'properties.group.id' 'orders-etl');

CREATE EXTERNAL TABLE countries (code VARCHAR, name VARCHAR)
STORED AS CSV LOCATION 'countries.csv' OPTIONS ('format.has_header' 'true');

CREATE VIEW longest AS SELECT code, max(name) AS name FROM countries GROUP BY code;

CREATE VIEW named AS
SELECT o.order_id, l.name, o.place FROM orders AS o LEFT JOIN longest AS l ON l.code = o.country;

COPY named TO 's3://lake/named/' STORED AS PARQUET PARTITIONED BY (name) OPTIONS ('metadata' 'all');
