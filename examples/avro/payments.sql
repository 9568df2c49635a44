-- Six payments; the rows are written as Avro by the subject's schema, behind Confluent's five bytes.
SELECT
  n AS payment_id,
  to_timestamp_millis(1767225600000 + n * 60000) AS paid_at,
  CAST(n * 12.5 AS DECIMAL(10, 2)) AS amount,
  CASE n % 2 WHEN 0 THEN 'DKK' ELSE 'EUR' END AS currency,
  named_struct('name', concat('payer ', n), 'country', CASE n % 3 WHEN 0 THEN NULL WHEN 1 THEN 'de' ELSE 'dk' END) AS payer,
  CASE n % 2 WHEN 0 THEN make_array('gift', concat('batch-', n)) ELSE make_array() END AS tags
FROM (SELECT value AS n FROM generate_series(1, 6))
