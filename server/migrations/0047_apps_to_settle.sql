-- Which apps have something to settle or to class is read from what ingest leaves anyway: an app at rest is not touched.

-- When the count of a name last grew, by the server's clock.
ALTER TABLE event_names ADD COLUMN counted_at timestamptz NOT NULL DEFAULT now();

-- When an app's purchases, installs and sessions were last settled and classed as far as they can be, by the server's clock.
CREATE TABLE attribution_checks (
  app_id uuid NOT NULL PRIMARY KEY,
  checked_at timestamptz NOT NULL
);
