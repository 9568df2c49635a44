-- The quickstart's data: twenty thousand orders of a small shop, the same ones every time.
-- One SELECT; each row becomes one record in the table's format. Some rows are wrong on purpose:
-- every 5,003rd has no order id, every 4,001st no readable time, every 6,007th a discount that is no number.
SELECT
  CASE WHEN n % 5003 = 0 THEN NULL ELSE n END AS order_id,
  CASE
    WHEN n % 4001 = 0 THEN 'yesterday'
    ELSE to_char(to_timestamp(1767225600 + n * 7), '%Y-%m-%dT%H:%M:%SZ')
  END AS ordered_at,
  named_struct('id', n % 997, 'country', CASE n % 5 WHEN 0 THEN 'de' WHEN 1 THEN 'fr' WHEN 2 THEN 'nl' WHEN 3 THEN 'dk' ELSE 'at' END) AS customer,
  CASE n % 4
    WHEN 0 THEN make_array()
    WHEN 1 THEN make_array(named_struct('sku', concat('SKU-', n % 89), 'qty', n % 7 + 1, 'price', (n % 5000) / 100.0))
    ELSE make_array(
      named_struct('sku', concat('SKU-', n % 89), 'qty', n % 7 + 1, 'price', (n % 5000) / 100.0),
      named_struct('sku', concat('SKU-', n % 83), 'qty', n % 3 + 1, 'price', (n % 900) / 10.0)
    )
  END AS lines,
  CASE WHEN n % 6007 = 0 THEN 'ten' ELSE CAST((n % 4) * 2.5 AS VARCHAR) END AS discount,
  CASE n % 10 WHEN 0 THEN 'TEST' WHEN 1 THEN 'RETURNED' ELSE 'PAID' END AS status
FROM (SELECT value AS n FROM generate_series(1, 20000))
