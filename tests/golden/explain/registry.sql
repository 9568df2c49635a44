SET 'metadata.policy' = 'none';

CREATE EXTERNAL TABLE orders (ordered_at TIMESTAMP METADATA FROM 'timestamp')
STORED AS KAFKA LOCATION 'kafka://localhost:9092/orders'
OPTIONS (
  'format' 'avro-confluent',
  'avro-confluent.url' 'http://reader:hidden@registry:8081',
  'key.format' 'avro-confluent',
  'key.avro-confluent.url' 'http://registry:8081',
  'key.avro-confluent.subject' 'order-keys',
  'properties.sasl.password' 'hidden',
  'bad_data' 'dlq'
);

CREATE VIEW large AS SELECT order_id, ordered_at FROM orders WHERE amount > 100;

COPY large      TO './large/'  STORED AS PARQUET;
COPY dlq.orders TO './letters/' STORED AS PARQUET;
