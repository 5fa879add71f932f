-- What filters ask for: indexes on `audience` follow it.

-- Previews, noted at most once a minute by each process.
CREATE TABLE field_uses (
  app_id uuid NOT NULL,
  field text COLLATE "C" NOT NULL,
  previews integer NOT NULL CHECK (previews > 0),
  last_preview_at timestamptz NOT NULL,
  PRIMARY KEY (app_id, field)
);
