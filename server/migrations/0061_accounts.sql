-- People who use the console: their ways to sign in, their sessions, their roles, and the links that let them in. Small tables.

CREATE TABLE accounts (
  id uuid PRIMARY KEY,
  -- In lower case: an address is one account in any spelling.
  email text COLLATE "C" NOT NULL UNIQUE CHECK (email = lower(email) AND char_length(email) BETWEEN 3 AND 254),
  name text COLLATE "C" NOT NULL CHECK (char_length(name) BETWEEN 1 AND 128),
  two_factor_enabled boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);

-- A way in: a password, or a subject at a provider of OpenID Connect.
CREATE TABLE account_logins (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES accounts ON DELETE CASCADE,
  provider text COLLATE "C" NOT NULL CHECK (provider IN ('credential', 'oidc')),
  -- The account's own id for a password; the provider's `sub` for OpenID Connect.
  subject text COLLATE "C" NOT NULL,
  -- scrypt with its parameters and salt.
  password_hash text COLLATE "C",
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (provider, subject),
  UNIQUE (account_id, provider),
  CHECK ((provider = 'credential') = (password_hash IS NOT NULL))
);

CREATE TABLE second_factors (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL UNIQUE REFERENCES accounts ON DELETE CASCADE,
  -- Encrypted under a key that is derived from the master key (R-44).
  secret text COLLATE "C" NOT NULL,
  backup_codes text COLLATE "C" NOT NULL,
  is_verified boolean NOT NULL DEFAULT false
);

CREATE TABLE members (
  org_id uuid NOT NULL REFERENCES organisations,
  account_id uuid NOT NULL REFERENCES accounts ON DELETE CASCADE,
  role text COLLATE "C" NOT NULL CHECK (role IN ('viewer', 'member', 'admin', 'owner')),
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (org_id, account_id)
);
CREATE INDEX members_of_account ON members (account_id);

CREATE TABLE account_sessions (
  id uuid PRIMARY KEY,
  -- SHA-256 of the cookie's token: the database alone opens no session (R-50).
  token_hash bytea NOT NULL UNIQUE CHECK (octet_length(token_hash) = 32),
  account_id uuid NOT NULL REFERENCES accounts ON DELETE CASCADE,
  -- The organisation that the session works in; null: the person is in none.
  org_id uuid,
  address text COLLATE "C",
  user_agent text COLLATE "C" CHECK (char_length(user_agent) <= 256),
  created_at timestamptz NOT NULL,
  last_used_at timestamptz NOT NULL
);
CREATE INDEX account_sessions_of_account ON account_sessions (account_id);

-- What a sign-in of several steps remembers between them: which second factor is awaited, which answer of a provider.
CREATE TABLE login_steps (
  id uuid PRIMARY KEY,
  identifier text COLLATE "C" NOT NULL,
  value text COLLATE "C" NOT NULL,
  expires_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX login_steps_by_identifier ON login_steps (identifier);

-- Links that work once: for the first owner, for an invited person, for a lost password.
CREATE TABLE account_links (
  id uuid PRIMARY KEY,
  token_hash bytea NOT NULL UNIQUE CHECK (octet_length(token_hash) = 32),
  kind text COLLATE "C" NOT NULL CHECK (kind IN ('setup', 'invite', 'reset')),
  org_id uuid REFERENCES organisations,
  -- The invited address; null: whoever has the link gives one.
  email text COLLATE "C" CHECK (email = lower(email)),
  role text COLLATE "C" CHECK (role IN ('viewer', 'member', 'admin', 'owner')),
  -- The account whose password is reset.
  account_id uuid REFERENCES accounts ON DELETE CASCADE,
  created_by text COLLATE "C" NOT NULL,
  created_at timestamptz NOT NULL,
  -- Null: until it is used, or until the next one of its kind.
  expires_at timestamptz,
  used_at timestamptz,
  CHECK (kind <> 'invite' OR (org_id IS NOT NULL AND role IS NOT NULL AND expires_at IS NOT NULL)),
  CHECK (kind <> 'reset' OR (account_id IS NOT NULL AND expires_at IS NOT NULL))
);

-- Failed sign-ins of an account (by the hash of its address, known or not) and of a client network (R-52).
CREATE TABLE login_failures (
  subject bytea PRIMARY KEY CHECK (octet_length(subject) = 32),
  failures integer NOT NULL CHECK (failures > 0),
  since timestamptz NOT NULL,
  last_at timestamptz NOT NULL
);

-- Tokens of scripts, which do what a person of their role may do.
CREATE TABLE operator_tokens (
  id uuid PRIMARY KEY,
  org_id uuid NOT NULL REFERENCES organisations,
  name text COLLATE "C" NOT NULL CHECK (char_length(name) BETWEEN 1 AND 128),
  role text COLLATE "C" NOT NULL CHECK (role IN ('viewer', 'member', 'admin', 'owner')),
  hash bytea NOT NULL UNIQUE CHECK (octet_length(hash) = 32),
  start text COLLATE "C" NOT NULL,
  last4 text COLLATE "C" NOT NULL,
  created_by text COLLATE "C" NOT NULL,
  created_at timestamptz NOT NULL,
  last_used_at timestamptz,
  revoked_at timestamptz
);
CREATE INDEX operator_tokens_of_organisation ON operator_tokens (org_id, id);
