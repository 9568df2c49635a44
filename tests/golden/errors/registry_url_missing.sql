CREATE EXTERNAL TABLE orders STORED AS KAFKA LOCATION 'kafka://localhost:9092/orders' OPTIONS ('format' 'avro-confluent');
COPY orders TO './out/orders/' STORED AS PARQUET;
