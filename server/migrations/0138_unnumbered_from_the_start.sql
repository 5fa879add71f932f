-- Gives an empty `audience` the index of devices whose users have no number. Until a worker had built it, up to a minute after
-- the first start, each look for such devices read the whole table. A table with rows gets the index from a worker as before,
-- without blocking writers (`follow-use`).
DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM audience) THEN
    CREATE INDEX IF NOT EXISTS audience_unnumbered ON audience (app_id, external_id) WHERE user_bit = 0;
  END IF;
END $$;
