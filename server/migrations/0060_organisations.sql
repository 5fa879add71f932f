-- Organisations: people and apps belong to them. The first one is there from the beginning, with a fixed id, so that apps of before
-- and apps of the command line have one; setting up the console names it.

CREATE TABLE organisations (
  id uuid PRIMARY KEY,
  name text COLLATE "C" NOT NULL CHECK (char_length(name) BETWEEN 1 AND 128),
  -- Members without a second factor are led to set it up.
  require_two_factor boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);
INSERT INTO organisations (id, name) VALUES ('01930000-0000-7000-8000-000000000001', 'Organisation');

UPDATE apps SET org_id = '01930000-0000-7000-8000-000000000001' WHERE org_id IS NULL;
ALTER TABLE apps
  ALTER COLUMN org_id SET DEFAULT '01930000-0000-7000-8000-000000000001',
  ALTER COLUMN org_id SET NOT NULL,
  ADD COLUMN updated_at timestamptz NOT NULL DEFAULT now(),
  -- From then on nothing of the app answers; its rows are cleared in the background.
  ADD COLUMN deleted_at timestamptz;

-- The organisation concerned; null where the change concerns one app or the whole service.
ALTER TABLE audit_entries ADD COLUMN org_id uuid;
CREATE INDEX audit_entries_of_organisation ON audit_entries (org_id, id) WHERE org_id IS NOT NULL;
