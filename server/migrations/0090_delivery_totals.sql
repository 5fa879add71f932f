-- Outcomes of deliveries by quarter of an hour, push service and latency, for the report of
-- deliverability. A delivery's own row is deleted by retention and names no push service.
--
-- A flush appends to `delivery_deltas` in its transaction, and one process folds the rows into
-- `delivery_totals` now and then. Both together, read in one statement, are exact at any moment.
--
-- channel 0 webpush, 1 apns, 2 fcm · vendor 0 google, 1 mozilla, 2 apple, 3 microsoft, 4 other
-- code 0 sent, 1..12 failed, in the order of contract 7.6
-- step: the latency of a sent delivery in steps of a factor of the square root of two; 0 of a failed one

CREATE TABLE delivery_totals (
  app_id uuid NOT NULL,
  -- The first instant of the quarter of an hour in which the deliveries ended.
  bucket timestamptz NOT NULL,
  channel smallint NOT NULL CHECK (channel BETWEEN 0 AND 2),
  vendor smallint NOT NULL CHECK (vendor BETWEEN 0 AND 4),
  code smallint NOT NULL CHECK (code BETWEEN 0 AND 12),
  step smallint NOT NULL CHECK (step BETWEEN 0 AND 27),
  count bigint NOT NULL CHECK (count > 0),
  PRIMARY KEY (app_id, bucket, channel, vendor, code, step)
);
-- Upkeep deletes what no report can ask for, over all apps.
CREATE INDEX delivery_totals_bucket ON delivery_totals USING brin (bucket);

CREATE TABLE delivery_deltas (
  app_id uuid NOT NULL,
  bucket timestamptz NOT NULL,
  channel smallint NOT NULL,
  vendor smallint NOT NULL,
  code smallint NOT NULL,
  step smallint NOT NULL,
  count bigint NOT NULL CHECK (count > 0)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);
