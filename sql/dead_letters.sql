-- Questions to ask of a dead-letter table. Give twg repl a table named dead_letters and load this file:
--   CREATE EXTERNAL TABLE dead_letters STORED AS PARQUET LOCATION './out/dead_letters/';
--   \i sql/dead_letters.sql
--   SELECT * FROM dead_letters_by_code;

-- How many of each kind, from where, first and last.
CREATE VIEW dead_letters_by_code AS
SELECT _twg_error_code AS code, _twg_error_relation AS relation, count(*) AS records,
       min(_twg_failed_at) AS first_failed_at, max(_twg_failed_at) AS last_failed_at
FROM dead_letters
GROUP BY _twg_error_code, _twg_error_relation;

-- Which field was at fault.
CREATE VIEW dead_letters_by_path AS
SELECT _twg_error_code AS code, _twg_error_path AS path, count(*) AS records, min(_twg_error_message) AS example
FROM dead_letters
GROUP BY _twg_error_code, _twg_error_path;

-- Where they were in the topic: find them again, or read around them.
CREATE VIEW dead_letters_by_partition AS
SELECT _twg_source_topic AS topic, _twg_source_partition AS partition, count(*) AS records,
       min(_twg_source_offset) AS first_offset, max(_twg_source_offset) AS last_offset
FROM dead_letters
GROUP BY _twg_source_topic, _twg_source_partition;

-- How many an hour.
CREATE VIEW dead_letters_by_hour AS
SELECT date_trunc('hour', _twg_failed_at) AS hour, _twg_error_code AS code, count(*) AS records
FROM dead_letters
GROUP BY date_trunc('hour', _twg_failed_at), _twg_error_code;

-- The records themselves, for payloads and keys that are text.
CREATE VIEW dead_letters_as_text AS
SELECT _twg_source_topic AS topic, _twg_source_partition AS partition, _twg_source_offset AS record_offset,
       _twg_error_code AS code, _twg_error_message AS message,
       arrow_cast(_twg_source_key, 'Utf8') AS key_text, arrow_cast(payload, 'Utf8') AS payload_text
FROM dead_letters;
