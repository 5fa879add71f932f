-- When the sums of an app's devices were last compared with the devices themselves.
--
-- The sums drift where something changes a device without adding to them: a process of the version
-- before, while processes are replaced. A count of the history errs as well where its order by time
-- is not the order of commits.

CREATE TABLE device_counts (
  app_id uuid PRIMARY KEY,
  counted_at timestamptz NOT NULL
);

-- The first comparison. Upkeep makes the next one a minute after the first worker starts.
INSERT INTO device_deltas (app_id, bucket, platform, registered, invalid, unsubscribed, gained)
SELECT app_id, date_bin('15 minutes', now(), 'epoch'), platform, 0, 0, 0, sum(missing)
FROM (
  SELECT app_id, platform, count(*) AS missing FROM audience WHERE active GROUP BY 1, 2
  UNION ALL
  SELECT app_id, platform, -gained FROM device_totals WHERE bucket = 'infinity'
  UNION ALL
  SELECT app_id, platform, -gained FROM device_deltas
) AS parts
WHERE app_id IN (SELECT id FROM apps WHERE deleted_at IS NULL)
GROUP BY 1, 3 HAVING sum(missing) <> 0;
