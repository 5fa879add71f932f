-- no transaction
-- The console finds people by the beginning of an external id, letter case ignored.

CREATE INDEX CONCURRENTLY IF NOT EXISTS users_external_id_lower ON users (app_id, lower(external_id));
