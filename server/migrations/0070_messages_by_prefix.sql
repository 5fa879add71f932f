-- no transaction
-- The console finds messages by the beginning of a name, letter case ignored.

CREATE INDEX CONCURRENTLY IF NOT EXISTS messages_name_lower ON messages (app_id, lower(name)) WHERE name IS NOT NULL;
