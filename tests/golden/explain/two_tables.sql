SET 'budget.age' = '20 ms';

CREATE EXTERNAL TABLE clicks ("userId" STRING, page ROW<url STRING, tags MAP<STRING, ARRAY<INT>>>, doc JSON, id UUID)
STORED AS KAFKA LOCATION 'kafka://localhost:9092/clicks' OPTIONS ('format' 'json');

CREATE EXTERNAL TABLE views ("userId" STRING, duration DECIMAL(40, 3), note VARCHAR(20))
STORED AS KAFKA LOCATION 'kafka://localhost:9092/views'
OPTIONS ('format' 'json', 'scan.startup.mode' 'latest-offset', 'scan.bounded.mode' 'latest-offset');

CREATE VIEW one AS SELECT 1 AS k;
CREATE VIEW numbered AS SELECT x.a AS "userId", x.e AS k FROM (clicks AS c CROSS JOIN one) AS x(a, b, c, d, e);
CREATE VIEW everybody AS SELECT "userId" FROM clicks UNION ALL SELECT "userId" FROM views;

COPY numbered  TO './numbered/'  STORED AS PARQUET;
COPY everybody TO './everybody/' STORED AS PARQUET;
