-- Messages that people of an app prepare together in the console, and content that they start from.

CREATE TABLE drafts (
  app_id uuid NOT NULL,
  id uuid NOT NULL,
  name text COLLATE "C" NOT NULL CHECK (char_length(name) <= 128),
  -- The form as its author left it. It need not be a valid message yet.
  message json NOT NULL,
  changed_by text COLLATE "C" NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (app_id, id)
);

CREATE TABLE templates (
  app_id uuid NOT NULL,
  id uuid NOT NULL,
  name text COLLATE "C" NOT NULL CHECK (char_length(name) BETWEEN 1 AND 128),
  -- The newest version.
  version integer NOT NULL CHECK (version > 0),
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (app_id, id),
  UNIQUE (app_id, name)
);

-- Every saved content of a template. A version never changes.
CREATE TABLE template_versions (
  app_id uuid NOT NULL,
  template_id uuid NOT NULL,
  version integer NOT NULL CHECK (version > 0),
  content json NOT NULL,
  created_by text COLLATE "C" NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (app_id, template_id, version)
);

-- The people and devices that a test of a message reaches: one row an app.
CREATE TABLE test_users (
  app_id uuid PRIMARY KEY,
  external_ids text[] COLLATE "C" NOT NULL,
  device_ids uuid[] NOT NULL,
  updated_at timestamptz NOT NULL,
  CHECK (cardinality(external_ids) + cardinality(device_ids) <= 20)
);
