-- The audit log: one row for each change that somebody made to how the service is set up, written in the transaction of the
-- change. Rows are added and never changed. No foreign key to apps: the log outlives what it tells of.

CREATE TABLE audit_entries (
  -- The app concerned; the nil UUID where the change concerns the whole service.
  app_id uuid NOT NULL,
  -- A UUIDv7: entries sort by it as they happened.
  id uuid NOT NULL,
  at timestamptz NOT NULL,
  actor_kind text COLLATE "C" NOT NULL CHECK (actor_kind IN ('person', 'token', 'key', 'cli', 'service')),
  -- The public id of a person, an operator token or a key.
  actor_id text COLLATE "C",
  actor_name text COLLATE "C" NOT NULL,
  -- Where the request came from.
  address text COLLATE "C",
  action text COLLATE "C" NOT NULL CHECK (action ~ '^[a-z_]+\.[a-z_]+$'),
  -- What was changed: a public id, or the name by which an operator knows it.
  target text COLLATE "C",
  -- The fields that changed, without secrets.
  before json,
  after json,
  PRIMARY KEY (app_id, id),
  CHECK ((actor_id IS NULL) = (actor_kind IN ('cli', 'service')))
);
-- All apps together, newest first.
CREATE INDEX audit_entries_by_id ON audit_entries (id);
