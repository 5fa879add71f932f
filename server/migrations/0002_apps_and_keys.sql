-- An app is the unit of isolation; its keys say who is calling and how much they may do.

CREATE TABLE apps (
  id uuid PRIMARY KEY,
  org_id uuid,
  name text COLLATE "C" NOT NULL,
  plan text COLLATE "C" NOT NULL,
  default_url text COLLATE "C",
  attribution_window_hours integer NOT NULL DEFAULT 24 CHECK (attribution_window_hours BETWEEN 1 AND 720),
  -- The next number of a credential: a small integer that devices and deliveries carry.
  next_credential_id smallint NOT NULL DEFAULT 1,
  suspended_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE keys (
  app_id uuid NOT NULL REFERENCES apps (id),
  id uuid NOT NULL,
  scope text COLLATE "C" NOT NULL CHECK (scope IN ('server', 'client')),
  name text COLLATE "C" NOT NULL,
  -- SHA-256 of the whole key; the key itself is nowhere.
  hash bytea NOT NULL CHECK (octet_length(hash) = 32),
  start text COLLATE "C" NOT NULL,
  last4 text COLLATE "C" NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  created_by text COLLATE "C" NOT NULL,
  last_used_at timestamptz,
  expires_at timestamptz,
  revoked_at timestamptz,
  PRIMARY KEY (app_id, id),
  UNIQUE (hash, app_id)
);

-- One row per set of provider credentials that was ever current. Devices keep the number of the one they registered with:
-- a push subscription is bound to its VAPID key for life (RFC 8292 section 4.2).
CREATE TABLE credentials (
  app_id uuid NOT NULL REFERENCES apps (id),
  id smallint NOT NULL,
  channel text COLLATE "C" NOT NULL CHECK (channel IN ('webpush', 'apns', 'fcm')),
  -- What may be shown: public key and subject, key id and bundle, project and client e-mail.
  public json NOT NULL,
  -- Sealed: the private key or the account file.
  secret text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL DEFAULT 'ok' CHECK (state IN ('ok', 'suspect', 'failing')),
  suspect_since timestamptz,
  last_success_at timestamptz,
  last_error json,
  last_error_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  replaced_at timestamptz,
  PRIMARY KEY (app_id, id),
  CHECK ((state = 'suspect') = (suspect_since IS NOT NULL))
);
CREATE UNIQUE INDEX credentials_current ON credentials (app_id, channel) WHERE replaced_at IS NULL;

-- What the breaker looks at: refusals of a credential by minute, kept for two hours. Successes need no rows: the breaker
-- only asks about an hour without one, which credentials.last_success_at tells.
CREATE TABLE credential_minutes (
  app_id uuid NOT NULL,
  credential_id smallint NOT NULL,
  minute timestamptz NOT NULL,
  refused integer NOT NULL,
  -- Of those, the ones that ended invalid_token or credential_mismatch.
  suspicious integer NOT NULL,
  PRIMARY KEY (app_id, credential_id, minute)
);

-- Success answers that a provider gives again and again: a delivery names one and keeps only what differs.
CREATE TABLE answer_forms (
  app_id uuid NOT NULL,
  credential_id smallint NOT NULL,
  id smallint NOT NULL,
  form text COLLATE "C" NOT NULL,
  form_hash bytea NOT NULL,
  PRIMARY KEY (app_id, credential_id, id),
  UNIQUE (app_id, credential_id, form_hash)
);

-- Deliveries charged in a calendar month, UTC.
CREATE TABLE usage (
  app_id uuid NOT NULL REFERENCES apps (id),
  month date NOT NULL CHECK (month = date_trunc('month', month)),
  used bigint NOT NULL CHECK (used >= 0),
  PRIMARY KEY (app_id, month)
);
