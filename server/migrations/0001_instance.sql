-- The one row that says whose database this is, and what the whole service shares.

CREATE TABLE instance (
  id smallint PRIMARY KEY CHECK (id = 1),
  -- The server's own identifier; another one means that the rows were copied to another server (restore guard).
  system_identifier text COLLATE "C" NOT NULL,
  paused_at timestamptz,
  pause_reason text COLLATE "C",
  -- Sealed keys of receipt tokens, newest first; older ones still verify.
  receipt_keys text[] COLLATE "C" NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  CHECK ((paused_at IS NULL) = (pause_reason IS NULL)),
  CHECK (cardinality(receipt_keys) >= 1)
);
