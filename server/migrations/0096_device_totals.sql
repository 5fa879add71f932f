-- Changes of devices' states by quarter of an hour and platform, for the overview and the report of
-- devices: neither counts all devices when it is asked.
--
-- Each change appends to `device_deltas` in its transaction, and one process folds the rows into
-- `device_totals` now and then. Both together, read in one statement, are exact at any moment.
-- `device_changes` stays what they are counted from: a rebuild counts it again.

CREATE TABLE device_totals (
  app_id uuid NOT NULL,
  -- The first instant of the quarter of an hour of the changes; infinity: the sum of all quarters.
  bucket timestamptz NOT NULL,
  platform text COLLATE "C" NOT NULL,
  -- Devices that registered for the first time.
  registered bigint NOT NULL,
  -- Changes to this state, whatever the former one was.
  invalid bigint NOT NULL,
  unsubscribed bigint NOT NULL,
  -- How many more devices were active after the quarter than before it.
  gained bigint NOT NULL,
  PRIMARY KEY (app_id, bucket, platform)
);

CREATE TABLE device_deltas (
  app_id uuid NOT NULL,
  bucket timestamptz NOT NULL,
  platform text COLLATE "C" NOT NULL,
  registered bigint NOT NULL,
  invalid bigint NOT NULL,
  unsubscribed bigint NOT NULL,
  gained bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);

-- The first entry of a device's history is its registration.
INSERT INTO device_deltas (app_id, bucket, platform, registered, invalid, unsubscribed, gained)
SELECT app_id, date_bin('15 minutes', at, 'epoch'), platform,
  count(*) FILTER (WHERE former IS NULL),
  count(*) FILTER (WHERE status = 'invalid'),
  count(*) FILTER (WHERE status = 'unsubscribed'),
  sum((status = 'active')::int - coalesce((former = 'active')::int, 0))
FROM (
  SELECT app_id, at, platform, status,
    lag(status) OVER (PARTITION BY app_id, device_id ORDER BY at, id) AS former
  FROM device_changes
) AS changes
GROUP BY 1, 2, 3;
