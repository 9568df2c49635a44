CREATE EXTERNAL TABLE events STORED AS KAFKA LOCATION 'kafka://localhost:9092'
OPTIONS ('topic-pattern' 'events-.*', 'format' 'raw', 'tombstones' 'null_row', 'cluster.alias' 'blue');

CREATE VIEW sizes AS SELECT length(encode(payload, 'hex')) / 2 AS bytes, _twg_source_topic FROM raw.events;
CREATE VIEW unused AS SELECT value FROM events;

COPY raw.events TO './raw/' STORED AS PARQUET OPTIONS ('role' 'primary_raw');
COPY sizes      TO 'console://' STORED AS CONSOLE;
COPY sizes      TO './sizes/'   STORED AS PARQUET OPTIONS ('roll.age' '1 s');
