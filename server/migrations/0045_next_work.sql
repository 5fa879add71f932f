-- Who has work next is read in one place: a small row for each webhook, and one process that looks for all others.

-- When a webhook next has work: never later than its outbox says, or somebody is about to write it. No row: nothing to tell.
CREATE TABLE webhook_work (
  app_id uuid NOT NULL,
  webhook_id uuid NOT NULL,
  next_at timestamptz NOT NULL,
  PRIMARY KEY (app_id, webhook_id)
) WITH (fillfactor = 50);
CREATE INDEX webhook_work_next ON webhook_work (next_at);
INSERT INTO webhook_work (app_id, webhook_id, next_at) SELECT app_id, id, now() FROM webhooks;

-- The process that looks each second for what falls due, until it stops renewing this. Gone after a crash of the database, and taken again.
CREATE UNLOGGED TABLE lookouts (
  id smallint NOT NULL PRIMARY KEY CHECK (id = 1),
  holder uuid NOT NULL,
  held_until timestamptz NOT NULL
) WITH (fillfactor = 10);
