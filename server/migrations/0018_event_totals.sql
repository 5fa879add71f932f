-- Events are tracked: seen once by the caller's id, counted by subject and day, and summed up for reports.
--
-- Order of locks, in the one transaction that stores a request's events: people (by external id), event_ids (by key), devices (by
-- id), subject_events (by name, subject, day), event_properties (by name, key, type). Everything else it appends.

ALTER TABLE events
  -- Of a purchase: exact, as the caller wrote it, and upper-case.
  ADD COLUMN amount numeric CHECK (amount >= 0),
  ADD COLUMN currency text COLLATE "C",
  ADD CONSTRAINT events_amount_currency_check CHECK ((amount IS NULL) = (currency IS NULL)),
  ADD CONSTRAINT events_purchase_check CHECK (amount IS NULL OR name = 'purchase');
CREATE INDEX events_at ON events USING brin (at);
CREATE INDEX events_purchases ON events (app_id, at, id) WHERE name = 'purchase';

-- By month as the events are, so that both go together and without a row being deleted.
ALTER TABLE subject_events RENAME TO subject_events_default;
ALTER TABLE subject_events_default RENAME CONSTRAINT subject_events_pkey TO subject_events_default_pkey;
CREATE TABLE subject_events (LIKE subject_events_default INCLUDING ALL) PARTITION BY RANGE (day);
ALTER TABLE subject_events ATTACH PARTITION subject_events_default DEFAULT;

-- Whether an event is new. Kept as long as the event: `at` is the event's own time.
CREATE TABLE event_ids (
  app_id uuid NOT NULL,
  -- The first half of the SHA-256 of source and id. The source is the server, or the device that a client key named.
  key uuid NOT NULL,
  at timestamptz NOT NULL,
  PRIMARY KEY (app_id, key)
);
CREATE INDEX event_ids_at ON event_ids USING brin (at);

-- The sums of reports, by quarters of an hour: these divide every time zone in use. What a request adds is appended to
-- `rollup_deltas` in the transaction of its events, and folded into `rollups` by one process now and then; the two together, read
-- in one snapshot, are exact at any moment.
CREATE TABLE rollups (
  app_id uuid NOT NULL,
  name text COLLATE "C" NOT NULL,
  -- The first instant of the quarter of an hour.
  bucket timestamptz NOT NULL,
  -- Empty: events without an amount.
  currency text COLLATE "C" NOT NULL,
  count bigint NOT NULL CHECK (count > 0),
  amount numeric NOT NULL CHECK (amount >= 0),
  -- The latest event's time.
  last_at timestamptz NOT NULL,
  PRIMARY KEY (app_id, name, bucket, currency)
);

CREATE TABLE rollup_deltas (
  app_id uuid NOT NULL,
  name text COLLATE "C" NOT NULL,
  bucket timestamptz NOT NULL,
  currency text COLLATE "C" NOT NULL,
  count bigint NOT NULL CHECK (count > 0),
  amount numeric NOT NULL CHECK (amount >= 0),
  last_at timestamptz NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);

-- The event catalog: every name that was tracked, as far as its deltas are folded.
CREATE TABLE event_names (
  app_id uuid NOT NULL,
  name text COLLATE "C" NOT NULL,
  count bigint NOT NULL CHECK (count > 0),
  last_at timestamptz NOT NULL,
  PRIMARY KEY (app_id, name)
);

-- What kinds of values a property of an event had, with up to five of them.
CREATE TABLE event_properties (
  app_id uuid NOT NULL,
  name text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL CHECK (type IN ('string', 'number', 'boolean', 'object', 'array', 'null')),
  samples jsonb NOT NULL DEFAULT '[]' CHECK (jsonb_array_length(samples) <= 5),
  PRIMARY KEY (app_id, name, key, type)
);

-- What retention has taken: of the time before this instant no event is kept, so nothing of it can be counted anew.
CREATE TABLE event_retention (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  kept_since timestamptz NOT NULL
);
