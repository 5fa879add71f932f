-- Each event has a partition of its own time, made when the first one of it comes: there is no DEFAULT partition any more. A new
-- partition has to look through that while it keeps everybody waiting, and a month with rows in it never gets one of its own.
-- What stands in it is moved into partitions by months.

ALTER TABLE events DETACH PARTITION events_default;
ALTER TABLE subject_events DETACH PARTITION subject_events_default;

DO $$
DECLARE
  month timestamp;
  name text;
BEGIN
  FOR month IN SELECT DISTINCT date_trunc('month', at AT TIME ZONE 'UTC') FROM events_default LOOP
    name := 'events_' || to_char(month, 'YYYYMM');
    EXECUTE format('CREATE TABLE %I (LIKE events INCLUDING ALL)', name);
    EXECUTE format('ALTER TABLE events ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
      name, month AT TIME ZONE 'UTC', (month + interval '1 month') AT TIME ZONE 'UTC');
  END LOOP;
  FOR month IN SELECT DISTINCT date_trunc('month', day::timestamp) FROM subject_events_default LOOP
    name := 'subject_events_' || to_char(month, 'YYYYMM');
    EXECUTE format('CREATE TABLE %I (LIKE subject_events INCLUDING ALL) WITH (fillfactor = 80)', name);
    EXECUTE format('ALTER TABLE subject_events ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
      name, month::date, (month + interval '1 month')::date);
  END LOOP;
END $$;

INSERT INTO events (app_id, subject_id, id, name, at, device_id, external_id, properties, amount, currency)
SELECT app_id, subject_id, id, name, at, device_id, external_id, properties, amount, currency FROM events_default;
INSERT INTO subject_events (app_id, name, subject_id, day, count, last_at)
SELECT app_id, name, subject_id, day, count, last_at FROM subject_events_default;
DROP TABLE events_default;
DROP TABLE subject_events_default;
