-- Who says whose a device is must prove it, where an app has a secret to prove it by; and what an erasure leaves to be cleared.

ALTER TABLE apps
  -- Sealed. During a rotation the former one; null: identify needs no proof.
  ADD COLUMN identify_secret text COLLATE "C",
  -- Sealed. Valid beside the former one, until the rotation is finished.
  ADD COLUMN identify_secret_next text COLLATE "C",
  ADD COLUMN identify_bound_required boolean NOT NULL DEFAULT false,
  ADD CHECK (identify_secret IS NOT NULL OR (identify_secret_next IS NULL AND NOT identify_bound_required));

-- One row per erased user until nothing names them any more: profile, links and tokens went at once. It holds no name: the user
-- id resolves to nothing since then.
CREATE TABLE erasures (
  app_id uuid NOT NULL,
  user_id uuid NOT NULL,
  -- The devices that were theirs, which belong to nobody since then; and under which random id each one's past goes on.
  device_ids uuid[] NOT NULL,
  forgotten_ids uuid[] NOT NULL,
  at timestamptz NOT NULL,
  PRIMARY KEY (app_id, user_id),
  CHECK (cardinality(device_ids) = cardinality(forgotten_ids))
);
CREATE INDEX erasures_at ON erasures (app_id, at);
