-- Messages that are sent at so many requests a second.

-- The message's own; null: as fast as it goes.
ALTER TABLE batches ADD COLUMN per_second integer CHECK (per_second BETWEEN 1 AND 100000);

-- Claims of the ones never walk past the others: unpaced batches app by app, paced ones message by message.
DROP INDEX batches_open;
CREATE INDEX batches_open ON batches (app_id, available_at, id) WHERE state <> 'done' AND per_second IS NULL;
CREATE INDEX batches_paced ON batches (app_id, message_id, id) WHERE state <> 'done' AND per_second IS NOT NULL;

-- The next place in a message's row: no request before it. A crash of the database empties the table, which admits one place too
-- many.
CREATE UNLOGGED TABLE message_paces (
  app_id uuid NOT NULL,
  message_id uuid NOT NULL,
  next_at timestamptz NOT NULL,
  PRIMARY KEY (app_id, message_id)
);
