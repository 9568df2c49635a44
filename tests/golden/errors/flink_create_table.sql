CREATE TABLE orders (order_id BIGINT) WITH ('connector' = 'kafka', 'topic' = 'orders', 'format' = 'json');
