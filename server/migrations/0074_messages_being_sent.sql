-- no transaction
-- The console's live feed asks each second which messages of an app are being sent.

CREATE INDEX CONCURRENTLY IF NOT EXISTS messages_sending ON messages (app_id, id) WHERE status = 'sending';
