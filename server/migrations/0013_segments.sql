-- An audience worth a name: the filter as its author wrote it, evaluated live at each use.

CREATE TABLE segments (
  app_id uuid NOT NULL,
  id uuid NOT NULL,
  name text COLLATE "C" NOT NULL,
  description text COLLATE "C",
  filter json NOT NULL,
  -- What it compares, each once: indexes follow them.
  fields text[] COLLATE "C" NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (app_id, id),
  UNIQUE (app_id, name)
);
CREATE INDEX segments_created ON segments (app_id, created_at, id);

-- Who uses a segment that somebody wants to delete? Only what is still to come.
CREATE INDEX messages_scheduled_by_segment ON messages (app_id, (audience ->> 'segment_id'), exclude_segment_id)
  WHERE status = 'scheduled';
