-- Events that are told again stand behind those that have just happened, whatever either are due: the outbox has an index for each.
-- The outbox is short, unless an endpoint has been away for days: then what writes to it waits here for seconds.

ALTER TABLE webhook_events ADD COLUMN is_replay boolean NOT NULL DEFAULT false;
DROP INDEX webhook_events_due;
CREATE INDEX webhook_events_fresh ON webhook_events (app_id, webhook_id, due_at, id) WHERE NOT is_replay;
CREATE INDEX webhook_events_replayed ON webhook_events (app_id, webhook_id, due_at, id) WHERE is_replay;
