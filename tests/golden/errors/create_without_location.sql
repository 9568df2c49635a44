CREATE EXTERNAL TABLE orders (order_id BIGINT) STORED AS KAFKA OPTIONS ('format' 'json');
