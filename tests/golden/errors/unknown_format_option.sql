CREATE EXTERNAL TABLE orders STORED AS KAFKA LOCATION 'kafka://localhost:9092/orders'
OPTIONS ('format' 'avro-confluent', 'avro-confluent.url' 'http://localhost:8081',
         'avro-confluent.subjct' 'orders-value');
COPY orders TO './out/orders/' STORED AS PARQUET;
