-- Keys that an operator deleted or gave another type. Their values are invisible from that moment on, because stored values are
-- keyed by number; the space is freed in the background, and a slot is given to another key only when it is empty.

CREATE TABLE retired_properties (
  app_id uuid NOT NULL,
  id integer NOT NULL,
  type text COLLATE "C" NOT NULL,
  slot smallint,
  retired_at timestamptz NOT NULL,
  PRIMARY KEY (app_id, id)
);
