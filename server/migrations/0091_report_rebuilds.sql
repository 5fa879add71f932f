-- Rebuilds of reports that the console asked for. One row an app: the last that was asked for. A
-- worker does it, and does it again from its beginning after a crash.

CREATE TABLE report_rebuilds (
  app_id uuid NOT NULL,
  asked_at timestamptz NOT NULL,
  -- Null: as far as there are events.
  from_at timestamptz,
  to_at timestamptz,
  started_at timestamptz,
  finished_at timestamptz,
  -- True: it ended with an error, which the log has.
  failed boolean NOT NULL DEFAULT false,
  events bigint,
  purchases bigint,
  PRIMARY KEY (app_id),
  CHECK (from_at < to_at),
  CHECK (finished_at IS NULL OR started_at IS NOT NULL),
  CHECK (NOT failed OR finished_at IS NOT NULL),
  CHECK ((events IS NULL) = (purchases IS NULL))
);
CREATE INDEX report_rebuilds_open ON report_rebuilds (asked_at) WHERE finished_at IS NULL;
