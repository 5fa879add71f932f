-- A device's platform as a number beside its name, so that devices are counted by platform with one addition for each: a count compared the
-- name twice, once for each platform but one. It stands among what every count reads, and before it there is nothing whose length
-- differs from row to row: the name comes behind the user's number now.
--
-- The table is written anew in one go, as 0039 did, since a column cannot be moved: nobody reads or writes it meanwhile (CHANGELOG). The
-- indexes that follow use are built again in the background.

LOCK TABLE audience IN ACCESS EXCLUSIVE MODE;

CREATE TABLE audience_with_units (
  app_id uuid NOT NULL,
  device_id uuid NOT NULL,
  created_at timestamptz NOT NULL,
  last_seen_at timestamptz NOT NULL,
  active boolean NOT NULL,
  -- Their sum over some devices says how many are web and how many iOS: `audience/platform-units.ts`.
  platform_unit integer NOT NULL GENERATED ALWAYS AS (CASE platform WHEN 'web' THEN 1 WHEN 'ios' THEN 1 << 30 ELSE 0 END) STORED,
  user_block integer,
  user_bit integer DEFAULT 0,
  platform text COLLATE "C" NOT NULL,
  country text COLLATE "C",
  language text COLLATE "C",
  bool_01 boolean,
  number_01 double precision,
  text_01 text COLLATE "C",
  bool_02 boolean,
  number_02 double precision,
  text_02 text COLLATE "C",
  bool_03 boolean,
  number_03 double precision,
  text_03 text COLLATE "C",
  bool_04 boolean,
  number_04 double precision,
  text_04 text COLLATE "C",
  bool_05 boolean,
  number_05 double precision,
  text_05 text COLLATE "C",
  bool_06 boolean,
  number_06 double precision,
  text_06 text COLLATE "C",
  bool_07 boolean,
  number_07 double precision,
  text_07 text COLLATE "C",
  bool_08 boolean,
  number_08 double precision,
  text_08 text COLLATE "C",
  user_id uuid,
  external_id text COLLATE "C",
  user_created_at timestamptz,
  first_name text COLLATE "C",
  user_timezone text COLLATE "C",
  locale text COLLATE "C",
  timezone text COLLATE "C",
  app_version text COLLATE "C",
  sdk text COLLATE "C",
  os text COLLATE "C",
  os_version text COLLATE "C",
  model text COLLATE "C",
  overflow jsonb NOT NULL DEFAULT '{}',
  bool_09 boolean,
  number_09 double precision,
  text_09 text COLLATE "C",
  bool_10 boolean,
  number_10 double precision,
  text_10 text COLLATE "C",
  number_11 double precision,
  text_11 text COLLATE "C",
  number_12 double precision,
  text_12 text COLLATE "C",
  number_13 double precision,
  text_13 text COLLATE "C",
  number_14 double precision,
  text_14 text COLLATE "C",
  number_15 double precision,
  text_15 text COLLATE "C",
  number_16 double precision,
  text_16 text COLLATE "C",
  number_17 double precision,
  text_17 text COLLATE "C",
  number_18 double precision,
  text_18 text COLLATE "C",
  number_19 double precision,
  text_19 text COLLATE "C",
  number_20 double precision,
  text_20 text COLLATE "C",
  number_21 double precision,
  text_21 text COLLATE "C",
  number_22 double precision,
  text_22 text COLLATE "C",
  number_23 double precision,
  text_23 text COLLATE "C",
  number_24 double precision,
  text_24 text COLLATE "C",
  number_25 double precision,
  text_25 text COLLATE "C",
  number_26 double precision,
  text_26 text COLLATE "C",
  number_27 double precision,
  text_27 text COLLATE "C",
  number_28 double precision,
  text_28 text COLLATE "C",
  number_29 double precision,
  text_29 text COLLATE "C",
  number_30 double precision,
  text_30 text COLLATE "C",
  CONSTRAINT audience_check CHECK (num_nulls(user_id, external_id, user_created_at) IN (0, 3)),
  -- A device without a user has nothing of one.
  CONSTRAINT audience_check1 CHECK (user_id IS NOT NULL OR num_nonnulls(first_name, country, language, user_timezone) = 0),
  -- Of rows from before there were numbers: bit 0 with nobody.
  CONSTRAINT audience_user_number CHECK (
    CASE WHEN user_id IS NULL THEN user_block IS NULL AND coalesce(user_bit, 0) = 0
      ELSE user_bit IS NOT NULL AND (user_block IS NULL) = (user_bit = 0) END
  )
);

-- Nothing is lost: neither a column that somebody added, nor who may read the table, nor how it is to be stored.
DO $$
DECLARE
  unknown text;
  known text;
  former pg_class;
  granted record;
BEGIN
  SELECT string_agg(quote_ident(attname), ', ') INTO unknown FROM (
    SELECT attname, atttypid, attcollation FROM pg_attribute
    WHERE attrelid = 'audience'::regclass AND attnum > 0 AND NOT attisdropped
    EXCEPT
    SELECT attname, atttypid, attcollation FROM pg_attribute
    WHERE attrelid = 'audience_with_units'::regclass AND attnum > 0 AND attgenerated = ''
  ) AS columns;
  IF unknown IS NOT NULL THEN
    RAISE EXCEPTION 'the table audience has columns that are not Carillon''s, and would lose them: %', unknown;
  END IF;

  SELECT * INTO former FROM pg_class WHERE oid = 'audience'::regclass;
  EXECUTE format('ALTER TABLE audience_with_units OWNER TO %I', pg_get_userbyid(former.relowner));
  IF former.reloptions IS NOT NULL THEN
    EXECUTE format('ALTER TABLE audience_with_units SET (%s)', array_to_string(former.reloptions, ', '));
  END IF;
  FOR granted IN SELECT * FROM aclexplode(former.relacl) WHERE grantee <> former.relowner LOOP
    EXECUTE format(
      'GRANT %s ON audience_with_units TO %s%s',
      granted.privilege_type,
      CASE WHEN granted.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(granted.grantee)) END,
      CASE WHEN granted.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END
    );
  END LOOP;

  -- By name: the units are made by the database, and nothing else of the new table is not in the former one.
  SELECT string_agg(quote_ident(attname), ', ') INTO known FROM pg_attribute
  WHERE attrelid = 'audience_with_units'::regclass AND attnum > 0 AND attgenerated = '';
  EXECUTE format('INSERT INTO audience_with_units (%s) SELECT %s FROM audience', known, known);
END $$;

DROP TABLE audience;
ALTER TABLE audience_with_units RENAME TO audience;

ALTER TABLE audience ADD CONSTRAINT audience_pkey PRIMARY KEY (app_id, device_id);
-- As they were: the devices of a user; in the order of their making; those that are invalid or unsubscribed, which are few.
CREATE INDEX audience_user ON audience (app_id, external_id) WHERE external_id IS NOT NULL;
CREATE INDEX audience_created ON audience (app_id, created_at, device_id);
CREATE INDEX audience_inactive ON audience (app_id, created_at, device_id) WHERE NOT active;

ANALYZE audience;
