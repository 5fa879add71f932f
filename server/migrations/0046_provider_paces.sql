-- How far a credential's pace with its provider is used up, over all processes. Gone after a crash of the database: then a rest has passed.
CREATE UNLOGGED TABLE provider_paces (
  -- What the provider knows the credential by, for one row however many apps use it.
  name text COLLATE "C" NOT NULL PRIMARY KEY,
  -- Since when it has been used without a rest: the rate grows with that.
  started_at timestamptz NOT NULL,
  -- The next place that nobody has taken.
  next_at timestamptz NOT NULL
) WITH (fillfactor = 50);
