-- Client keys are held by strangers: which devices they registered, whether anything ever reached a device, and what an app lets
-- client keys say.

-- Devices of before count as reached: a device that works is not written again by its next push.
ALTER TABLE devices
  -- Registered by client key: nobody whom the app trusts has vouched for it.
  ADD COLUMN by_client boolean NOT NULL DEFAULT false,
  -- A push or a receipt reached it once.
  ADD COLUMN is_reached boolean NOT NULL DEFAULT true,
  -- Messages that failed in a row because its host has no address, of a device that was never reached, and since when.
  ADD COLUMN unresolved_messages smallint NOT NULL DEFAULT 0,
  ADD COLUMN unresolved_since timestamptz,
  ADD CONSTRAINT devices_unresolved CHECK ((unresolved_messages = 0) = (unresolved_since IS NULL)) NOT VALID;

ALTER TABLE devices ALTER COLUMN is_reached SET DEFAULT false;

ALTER TABLE apps
  -- What client keys may track: names that the app does not have yet, and purchases.
  ADD COLUMN client_new_names boolean NOT NULL DEFAULT true,
  ADD COLUMN client_purchases boolean NOT NULL DEFAULT true,
  -- Grows with each name of events that is deleted: what processes remember of the app's names is then out of date.
  ADD COLUMN deleted_names integer NOT NULL DEFAULT 0;

-- Names of events that a client key brought: an app's clients have a share of its names and never all of them.
CREATE TABLE client_names (
  app_id uuid NOT NULL,
  name text COLLATE "C" NOT NULL,
  PRIMARY KEY (app_id, name)
);

ALTER TABLE event_properties
  ADD COLUMN by_client boolean NOT NULL DEFAULT false,
  -- Whose event brought each sample, by the sample as JSON text, so that an erasure finds what came from its person.
  ADD COLUMN sample_subjects jsonb NOT NULL DEFAULT '{}';

-- Nobody knows whose the samples of before are, so an erasure could not take them away.
UPDATE event_properties SET samples = '[]' WHERE samples <> '[]';
