-- title: declared columns
CREATE EXTERNAL TABLE orders (a INT, b DECIMAL(10, 2), c TIMESTAMP_LTZ(3))
STORED AS KAFKA LOCATION 'kafka://localhost:9092/orders' OPTIONS ('format' 'json');
-- plan:
-- orders json fail drop: a int32, b decimal128(10, 2), c timestamp[ms, tz=UTC]

-- title: raw without a list is one column of bytes
CREATE EXTERNAL TABLE orders
STORED AS KAFKA LOCATION 'kafka://localhost:9092/orders' OPTIONS ('format' 'raw');
-- plan:
-- orders raw fail drop: value binary

-- title: raw as text, with metadata
CREATE EXTERNAL TABLE orders (line STRING, at TIMESTAMP_LTZ METADATA FROM 'timestamp')
STORED AS KAFKA LOCATION 'kafka://localhost:9092/orders' OPTIONS ('format' 'raw');
-- plan:
-- orders raw fail drop: line string, at timestamp[us, tz=UTC]

-- title: key columns come first, metadata columns last
CREATE EXTERNAL TABLE orders (at TIMESTAMP METADATA FROM 'timestamp', a INT, k STRING)
STORED AS KAFKA LOCATION 'kafka://localhost:9092/orders' OPTIONS ('key.format' 'raw', 'key.fields' 'k', 'value.format' 'json');
-- plan:
-- orders json fail drop: k string, a int32, at timestamp[us]

-- title: a plain METADATA column reads the key of its own name
CREATE EXTERNAL TABLE orders (a INT, partition INT METADATA)
STORED AS KAFKA LOCATION 'kafka://localhost:9092/orders' OPTIONS ('format' 'json');
-- plan:
-- orders json fail drop: a int32, partition int32

-- title: policies
CREATE EXTERNAL TABLE orders (a INT)
STORED AS KAFKA LOCATION 'kafka://localhost:9092/orders' OPTIONS ('format' 'json', 'bad_data' 'drop', 'tombstones' 'null_row');
-- plan:
-- orders json drop null_row: a int32

-- title: what lies in a registry is not guessed
CREATE EXTERNAL TABLE orders
STORED AS KAFKA LOCATION 'kafka://localhost:9092/orders' OPTIONS ('format' 'avro-confluent', 'avro-confluent.url' 'http://localhost:8081');
-- plan:
-- orders avro-confluent fail drop: unresolved

-- title: an Avro schema in the options
CREATE EXTERNAL TABLE orders
STORED AS KAFKA LOCATION 'kafka://localhost:9092/orders' OPTIONS ('format' 'avro', 'avro.schema' '{"type": "record", "name": "O", "fields": [{"name": "id", "type": "long"}, {"name": "tags", "type": {"type": "map", "values": "int"}}]}');
-- plan:
-- orders avro fail drop: id int64, tags map<string, int32>
