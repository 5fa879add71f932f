-- What callers asked lately. One row holds what one process heard of one app in about a second, so that a busy app costs one row
-- a second. Not logged: a crash loses it, and nothing else depends on it.

CREATE UNLOGGED TABLE request_chunks (
  app_id uuid NOT NULL,
  -- Minted when the chunk is written: its order and its age.
  id uuid NOT NULL,
  refused boolean NOT NULL,
  size integer NOT NULL CHECK (size > 0),
  -- Newest last. Never a body, a token or a value of a query.
  entries json NOT NULL,
  PRIMARY KEY (app_id, refused, id)
);
