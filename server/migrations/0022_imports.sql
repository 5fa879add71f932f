-- How far files have been read into an app: a row for each that was begun and not finished, written with the rows it speaks of, so
-- that a command that was ended goes on where it was.
CREATE TABLE imports (
  app_id uuid NOT NULL,
  -- Tells one state of a file from others.
  fingerprint bytea NOT NULL CHECK (octet_length(fingerprint) = 32),
  -- Bytes of it, unpacked, that are done.
  position bigint NOT NULL CHECK (position >= 0),
  -- The line there, what came of the lines before, and how long the list of the rejected ones is.
  progress jsonb NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (app_id, fingerprint)
);
