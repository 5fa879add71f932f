-- no transaction
-- Devices that strangers registered and that nothing ever reached, by age: what the doctor and a metric count, and `device purge` deletes.

CREATE INDEX CONCURRENTLY IF NOT EXISTS devices_unreached ON devices (app_id, id) WHERE by_client AND NOT is_reached;
