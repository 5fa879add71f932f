-- no transaction
-- The console finds people by the beginning of a first name, letter case ignored.

CREATE INDEX CONCURRENTLY IF NOT EXISTS users_first_name_lower ON users (app_id, lower(first_name)) WHERE first_name IS NOT NULL;
