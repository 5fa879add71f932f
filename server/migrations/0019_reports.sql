-- What purchases, installs and sessions are owed to, once that is settled; and what reports of devices and messages look for.

-- A settled purchase: its class and credit stay as they are when its deliveries, and its event, are gone.
CREATE TABLE attributions (
  app_id uuid NOT NULL,
  -- Of a purchase that has a user, that user; else a random one: nothing is looked up by it, so an erasure need not find it.
  subject_id uuid NOT NULL,
  event_id uuid NOT NULL,
  at timestamptz NOT NULL,
  currency text COLLATE "C" NOT NULL,
  amount numeric NOT NULL,
  -- The app's when it was settled.
  window_hours integer NOT NULL,
  class text COLLATE "C" NOT NULL CHECK (class IN ('direct', 'influenced', 'unattributed')),
  message_id uuid,
  PRIMARY KEY (app_id, subject_id, event_id),
  CHECK ((class = 'unattributed') = (message_id IS NULL))
);
CREATE INDEX attributions_at ON attributions (app_id, at);

-- What of the settled is credited to a message, by quarters of an hour as `rollups` are. What is credited to none is the rest of
-- the rollup.
CREATE TABLE credited_totals (
  app_id uuid NOT NULL,
  name text COLLATE "C" NOT NULL CHECK (name IN ('purchase', 'install', 'session_start')),
  bucket timestamptz NOT NULL,
  -- Empty: events without an amount.
  currency text COLLATE "C" NOT NULL,
  class text COLLATE "C" NOT NULL CHECK (class IN ('direct', 'influenced')),
  message_id uuid NOT NULL,
  count bigint NOT NULL CHECK (count > 0),
  amount numeric NOT NULL CHECK (amount >= 0),
  PRIMARY KEY (app_id, name, bucket, currency, class, message_id)
);
CREATE INDEX credited_totals_by_message ON credited_totals (app_id, message_id, name);

-- How far an app's events of a name are settled: all those that stand, by time and id, at or before (settled_at, settled_id) and
-- whose id, which tells when it was received, is at or before received_to.
CREATE TABLE attribution_progress (
  app_id uuid NOT NULL,
  name text COLLATE "C" NOT NULL,
  settled_at timestamptz NOT NULL,
  settled_id uuid NOT NULL,
  received_to uuid NOT NULL,
  PRIMARY KEY (app_id, name)
);

-- Events that were received long after they occurred, and so may have been settled past: few, and found by when they came. The
-- first 48 bits of an id are the milliseconds of its minting.
CREATE INDEX events_late ON events (app_id, name, id)
  WHERE name IN ('purchase', 'install', 'session_start')
    AND at < to_timestamp(('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint / 1000.0 - 3000);

-- Opt-outs and dead tokens by period.
CREATE INDEX device_changes_at ON device_changes (app_id, at);
-- The messages that began to be sent in a period, newest first.
CREATE INDEX messages_started ON messages (app_id, started_at, id) WHERE started_at IS NOT NULL;
