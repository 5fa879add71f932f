-- Who can be reached: users, devices, the property catalog, and the one narrow row per device that filters read.
--
-- Order of locks, in every transaction that takes more than one: property_catalogs, device_tokens, people, devices (by id),
-- audience, properties (by id). The row of `people` serialises what is written about one user; the row of `devices` whoever
-- writes the audience row of one device.

-- One row per app that has a property: held by whoever adds keys, and it counts their numbers.
CREATE TABLE property_catalogs (
  app_id uuid PRIMARY KEY,
  -- A number is never given twice, so a deleted key's values stay invisible.
  next_property_id integer NOT NULL,
  -- When the profiles with a value were last counted, for `properties.users_count`.
  counted_at timestamptz
);

CREATE TABLE properties (
  app_id uuid NOT NULL,
  id integer NOT NULL,
  key text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL CHECK (type IN ('string', 'number', 'boolean')),
  -- The typed column of `audience` that holds the values; null: they stand in `overflow`.
  slot smallint CHECK (slot BETWEEN 1 AND 30),
  first_seen_at timestamptz,
  last_seen_at timestamptz,
  users_count integer NOT NULL DEFAULT 0,
  samples jsonb NOT NULL DEFAULT '[]' CHECK (jsonb_array_length(samples) <= 5),
  conflicts_count integer NOT NULL DEFAULT 0,
  last_conflict_at timestamptz,
  PRIMARY KEY (app_id, id),
  UNIQUE (app_id, key),
  CHECK (type <> 'boolean' OR slot <= 10),
  CHECK ((conflicts_count = 0) = (last_conflict_at IS NULL))
);
CREATE UNIQUE INDEX properties_slot ON properties (app_id, type, slot) WHERE slot IS NOT NULL;

-- External id → user id, minted when the external id is first seen, by a profile or by an event.
CREATE TABLE people (
  app_id uuid NOT NULL,
  external_id text COLLATE "C" NOT NULL,
  user_id uuid NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (app_id, external_id)
);
CREATE INDEX people_user ON people (app_id, user_id);

-- `properties` is keyed by the catalog entry's number, so a deleted key is invisible at once.
CREATE TABLE users (
  app_id uuid NOT NULL,
  external_id text COLLATE "C" NOT NULL,
  id uuid NOT NULL,
  first_name text COLLATE "C",
  country text COLLATE "C",
  language text COLLATE "C",
  timezone text COLLATE "C",
  properties jsonb NOT NULL DEFAULT '{}',
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (app_id, external_id)
);

-- What of a device is not filtered on.
CREATE TABLE devices (
  app_id uuid NOT NULL,
  id uuid NOT NULL,
  platform text COLLATE "C" NOT NULL CHECK (platform IN ('web', 'ios', 'android')),
  -- Null once erased by an opt-out; the hash stays, so the same token finds the same device.
  token text COLLATE "C",
  token_hash bytea NOT NULL CHECK (octet_length(token_hash) = 32),
  token_hint text COLLATE "C",
  credential_id smallint,
  environment text COLLATE "C" CHECK (environment IN ('production', 'sandbox')),
  -- Where a probe found the token to work when the device itself did not say.
  environment_found text COLLATE "C" CHECK (environment_found IN ('production', 'sandbox')),
  properties jsonb NOT NULL DEFAULT '{}',
  status text COLLATE "C" NOT NULL CHECK (status IN ('active', 'invalid', 'unsubscribed')),
  status_reason text COLLATE "C" CHECK (status_reason IN ('unregistered', 'invalid_token', 'credential_mismatch', 'replaced')),
  -- Messages in a row that ended credential_mismatch while others succeeded.
  mismatches smallint NOT NULL DEFAULT 0,
  registered_at timestamptz NOT NULL,
  -- Since when it belongs to the user that its audience row names.
  identified_at timestamptz,
  PRIMARY KEY (app_id, id),
  CHECK ((status = 'invalid') = (status_reason IS NOT NULL)),
  CHECK (status <> 'active' OR token IS NOT NULL),
  CHECK (status <> 'unsubscribed' OR token IS NULL),
  CHECK ((token IS NULL) = (token_hint IS NULL)),
  CHECK (environment IS NULL OR platform = 'ios')
);

-- One token, one device: written first, in the transaction that makes or moves a device. A row whose device has another
-- token by now is left over from a refresh and binds nobody.
CREATE TABLE device_tokens (
  app_id uuid NOT NULL,
  platform text COLLATE "C" NOT NULL,
  token_hash bytea NOT NULL,
  device_id uuid NOT NULL,
  PRIMARY KEY (app_id, platform, token_hash)
);

-- Every change of a device's status: appended, never changed.
CREATE TABLE device_changes (
  app_id uuid NOT NULL,
  device_id uuid NOT NULL,
  id uuid NOT NULL,
  at timestamptz NOT NULL,
  platform text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL CHECK (status IN ('active', 'invalid', 'unsubscribed')),
  reason text COLLATE "C",
  -- The credential whose refusal caused it: such changes are undone when the credential turns out to be at fault.
  credential_id smallint,
  PRIMARY KEY (app_id, device_id, id)
);
CREATE INDEX device_changes_by_credential ON device_changes (app_id, credential_id, at) WHERE credential_id IS NOT NULL;

-- One row per device: the columns of its user's profile beside its own, and the values of catalogued properties in typed
-- slots. Kept in step in the transaction that changes either.
CREATE TABLE audience (
  app_id uuid NOT NULL,
  device_id uuid NOT NULL,
  user_id uuid,
  created_at timestamptz NOT NULL,
  user_created_at timestamptz,
  last_seen_at timestamptz NOT NULL,
  active boolean NOT NULL,
  platform text COLLATE "C" NOT NULL,
  locale text COLLATE "C",
  timezone text COLLATE "C",
  user_timezone text COLLATE "C",
  app_version text COLLATE "C",
  sdk text COLLATE "C",
  os text COLLATE "C",
  os_version text COLLATE "C",
  model text COLLATE "C",
  country text COLLATE "C",
  language text COLLATE "C",
  first_name text COLLATE "C",
  external_id text COLLATE "C",
  text_01 text COLLATE "C",
  text_02 text COLLATE "C",
  text_03 text COLLATE "C",
  text_04 text COLLATE "C",
  text_05 text COLLATE "C",
  text_06 text COLLATE "C",
  text_07 text COLLATE "C",
  text_08 text COLLATE "C",
  text_09 text COLLATE "C",
  text_10 text COLLATE "C",
  text_11 text COLLATE "C",
  text_12 text COLLATE "C",
  text_13 text COLLATE "C",
  text_14 text COLLATE "C",
  text_15 text COLLATE "C",
  text_16 text COLLATE "C",
  text_17 text COLLATE "C",
  text_18 text COLLATE "C",
  text_19 text COLLATE "C",
  text_20 text COLLATE "C",
  text_21 text COLLATE "C",
  text_22 text COLLATE "C",
  text_23 text COLLATE "C",
  text_24 text COLLATE "C",
  text_25 text COLLATE "C",
  text_26 text COLLATE "C",
  text_27 text COLLATE "C",
  text_28 text COLLATE "C",
  text_29 text COLLATE "C",
  text_30 text COLLATE "C",
  number_01 double precision,
  number_02 double precision,
  number_03 double precision,
  number_04 double precision,
  number_05 double precision,
  number_06 double precision,
  number_07 double precision,
  number_08 double precision,
  number_09 double precision,
  number_10 double precision,
  number_11 double precision,
  number_12 double precision,
  number_13 double precision,
  number_14 double precision,
  number_15 double precision,
  number_16 double precision,
  number_17 double precision,
  number_18 double precision,
  number_19 double precision,
  number_20 double precision,
  number_21 double precision,
  number_22 double precision,
  number_23 double precision,
  number_24 double precision,
  number_25 double precision,
  number_26 double precision,
  number_27 double precision,
  number_28 double precision,
  number_29 double precision,
  number_30 double precision,
  bool_01 boolean,
  bool_02 boolean,
  bool_03 boolean,
  bool_04 boolean,
  bool_05 boolean,
  bool_06 boolean,
  bool_07 boolean,
  bool_08 boolean,
  bool_09 boolean,
  bool_10 boolean,
  -- The values of properties without a slot, by the property's number.
  overflow jsonb NOT NULL DEFAULT '{}',
  PRIMARY KEY (app_id, device_id),
  CHECK (num_nulls(user_id, external_id, user_created_at) IN (0, 3)),
  -- A device without a user has nothing of one.
  CHECK (user_id IS NOT NULL OR num_nonnulls(first_name, country, language, user_timezone) = 0)
);
-- The devices of a user, for the user's transaction and for audiences that name external ids.
CREATE INDEX audience_user ON audience (app_id, external_id) WHERE external_id IS NOT NULL;
CREATE INDEX audience_created ON audience (app_id, created_at, device_id);
-- Lists of invalid or unsubscribed devices, which are few among many.
CREATE INDEX audience_inactive ON audience (app_id, created_at, device_id) WHERE NOT active;
