-- Whose devices were: what was sent to a device then is stored under that user, and is found by it.

-- The last time that a device ceased to be a user's. Kept as long as deliveries of that time; gone with the user's erasure.
CREATE TABLE former_links (
  app_id uuid NOT NULL,
  device_id uuid NOT NULL,
  user_id uuid NOT NULL,
  until timestamptz NOT NULL,
  PRIMARY KEY (app_id, device_id, user_id)
);
CREATE INDEX former_links_by_user ON former_links (app_id, user_id);
CREATE INDEX former_links_until ON former_links (app_id, until);
