-- no transaction
-- Counts the active devices of an app by an index alone, for the overview and the report of devices.
-- `device_counts`, and the sums of all quarters in `device_totals` (bucket infinity), were what they
-- read before: the version before still writes both, the next one drops them.

CREATE INDEX CONCURRENTLY IF NOT EXISTS audience_active ON audience (app_id, platform) WHERE active;
