-- Payments in Avro behind Confluent's five bytes. The columns come from the schema; a folder stands in for the registry:
-- subjects are in <subject>.avsc, ids in <id>.avsc. With a real registry only the URL changes.

SET 'pipeline.name' = 'payments';

CREATE EXTERNAL TABLE payments (
  place BIGINT METADATA FROM 'offset'
) STORED AS KAFKA LOCATION 'kafka://embedded/payments'
OPTIONS (
  'format' 'avro-confluent',
  'avro-confluent.url' 'schemas',
  'embedded.data' 'payments.sql',
  'embedded.partitions' '1',
  'scan.bounded.mode' 'latest-offset'
);

CREATE VIEW flat AS
SELECT payment_id, place, paid_at, amount, currency, payer['name'] AS payer, payer['country'] AS country
FROM payments
WHERE amount > 20;

CREATE VIEW tagged AS
SELECT payment_id, unnest(tags) AS tag FROM payments;

COPY flat   TO './out/flat/'   STORED AS PARQUET OPTIONS ('metadata' 'none');
COPY tagged TO './out/tagged/' STORED AS PARQUET OPTIONS ('metadata' 'none');
