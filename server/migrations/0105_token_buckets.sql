-- Paces are token buckets: what a row holds is relative to the last question, so that a step of the
-- server's clock neither stops a pace nor opens it.

-- `next_at` and `started_at` are only written by the version before, while machines are replaced.
ALTER TABLE message_paces
  -- Tokens left; below zero, tokens that processes took ahead of their time.
  ADD COLUMN tokens float8 NOT NULL DEFAULT 0,
  ADD COLUMN per_second float8 NOT NULL DEFAULT 1,
  -- The answer to the last question, and when that was.
  ADD COLUMN granted integer NOT NULL DEFAULT 0,
  ADD COLUMN asked_at timestamptz NOT NULL DEFAULT now(),
  ALTER COLUMN next_at SET DEFAULT now();

ALTER TABLE provider_paces
  ADD COLUMN tokens float8 NOT NULL DEFAULT 0,
  ADD COLUMN per_second float8 NOT NULL DEFAULT 1,
  ADD COLUMN granted integer NOT NULL DEFAULT 0,
  ADD COLUMN asked_at timestamptz NOT NULL DEFAULT now(),
  ALTER COLUMN started_at SET DEFAULT now(),
  ALTER COLUMN next_at SET DEFAULT now();
