CREATE EXTERNAL TABLE (order_id BIGINT) STORED AS KAFKA LOCATION 'kafka://localhost:9092/orders' OPTIONS ('format' 'json');
