-- The hearings that were judged. What outcomes say of a credential and its devices is counted once,
-- although the answer to the commit may be lost and the hearing repeated.

CREATE TABLE hearings (
  app_id uuid NOT NULL,
  id uuid NOT NULL,
  judged_at timestamptz NOT NULL,
  PRIMARY KEY (app_id, id)
);
