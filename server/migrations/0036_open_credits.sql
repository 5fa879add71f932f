-- What is not settled yet is classed ahead, a few minutes after it occurred, so that a report need not: what comes of it may
-- still change until it is settled.

-- What of the unsettled is credited to a message, event by event. Gone when the event is settled.
CREATE TABLE open_credits (
  app_id uuid NOT NULL,
  name text COLLATE "C" NOT NULL CHECK (name IN ('purchase', 'install', 'session_start')),
  event_id uuid NOT NULL,
  -- The event's, as it was stored: whoever changes is found by it.
  subject_id uuid NOT NULL,
  at timestamptz NOT NULL,
  -- Empty: events without an amount.
  currency text COLLATE "C" NOT NULL,
  amount numeric NOT NULL CHECK (amount >= 0),
  class text COLLATE "C" NOT NULL CHECK (class IN ('direct', 'influenced')),
  message_id uuid NOT NULL,
  PRIMARY KEY (app_id, name, event_id)
);
CREATE INDEX open_credits_at ON open_credits (app_id, name, at);
CREATE INDEX open_credits_by_subject ON open_credits (app_id, subject_id);

-- How far an app's events are classed ahead: all that occurred before classed_to and whose id, which tells when it was received,
-- is at or before received_to.
CREATE TABLE open_progress (
  app_id uuid NOT NULL PRIMARY KEY,
  -- The app's when they were classed.
  window_hours integer NOT NULL,
  classed_to timestamptz NOT NULL,
  received_to uuid NOT NULL
);

-- Devices and users whose events may be owed to another message since they were classed ahead: a device passed on, a click was
-- stored long after it. Gone when they are classed anew.
CREATE TABLE people_changes (
  app_id uuid NOT NULL,
  id uuid NOT NULL,
  ids uuid[] NOT NULL,
  PRIMARY KEY (app_id, id)
);

-- As before, of events that were received four minutes and more after they occurred, where it was fifty.
DROP INDEX events_late;
CREATE INDEX events_late ON events (app_id, name, id)
  WHERE name IN ('purchase', 'install', 'session_start')
    AND at < to_timestamp(('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint / 1000.0 - 240);
