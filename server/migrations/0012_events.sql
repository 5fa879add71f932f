-- What people did, as event leaves of filters read it: every event, and its daily counts by subject.
--
-- A subject is whose an event is as far as the event itself knows: its user's id if it has a user, else its device's, else a
-- random one. Whom a device belongs to now is asked when it is read, so that what an anonymous device did counts for the user
-- who logs in on it later.

-- No key: uniqueness by the caller's id stands apart, and a key would double the cost of an insert.
CREATE TABLE events (
  app_id uuid NOT NULL,
  subject_id uuid NOT NULL,
  id uuid NOT NULL,
  name text COLLATE "C" NOT NULL,
  at timestamptz NOT NULL,
  device_id uuid,
  external_id text COLLATE "C",
  properties jsonb NOT NULL DEFAULT '{}'
) PARTITION BY RANGE (at);
CREATE INDEX events_named ON events (app_id, name, at);
-- For the odd old date; the months are made ahead.
CREATE TABLE events_default PARTITION OF events DEFAULT;

CREATE TABLE subject_events (
  app_id uuid NOT NULL,
  name text COLLATE "C" NOT NULL,
  subject_id uuid NOT NULL,
  -- In UTC.
  day date NOT NULL,
  count integer NOT NULL CHECK (count > 0),
  last_at timestamptz NOT NULL,
  PRIMARY KEY (app_id, name, subject_id, day)
);
