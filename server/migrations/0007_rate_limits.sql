-- How far the bucket of each key is emptied (contract 4). Not logged: a crash empties the table, which admits one burst too
-- many. A row is written in place many times a second, hence the room in its pages; no index but the key may name `full_at`.

CREATE UNLOGGED TABLE rate_limits (
  app_id uuid NOT NULL,
  key_id uuid NOT NULL,
  -- When the bucket is full again, if nothing more is taken out of it.
  full_at timestamptz NOT NULL,
  -- How many requests the last statement on this row was given: all that it asked for, or what there was.
  granted integer NOT NULL CHECK (granted >= 1),
  PRIMARY KEY (app_id, key_id)
) WITH (fillfactor = 50);
