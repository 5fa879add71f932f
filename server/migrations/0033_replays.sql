-- How far a replay has come. A row is there from its beginning to its end: what was broken off goes on where it was.

CREATE TABLE webhook_replays (
  app_id uuid NOT NULL,
  webhook_id uuid NOT NULL,
  -- Of which events: those that happened in [from_at, to_at), of these kinds.
  from_at timestamptz NOT NULL,
  to_at timestamptz NOT NULL,
  kinds smallint[] NOT NULL,
  -- Up to which batch they are in the outbox; null: none is yet. Batches are walked in the order of their ids.
  batch_id uuid,
  queued bigint NOT NULL DEFAULT 0,
  moved_at timestamptz NOT NULL,
  PRIMARY KEY (app_id, webhook_id, from_at, to_at, kinds)
);
