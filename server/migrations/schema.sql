-- The result of all migrations, for reading. Written by: node --import tsx tools/schema.ts --write
-- Partitions, which the service makes, are left out.

CREATE TABLE account_links (
  id uuid NOT NULL,
  token_hash bytea NOT NULL,
  kind text COLLATE "C" NOT NULL,
  org_id uuid,
  email text COLLATE "C",
  role text COLLATE "C",
  account_id uuid,
  created_by text COLLATE "C" NOT NULL,
  created_at timestamp with time zone NOT NULL,
  expires_at timestamp with time zone,
  used_at timestamp with time zone,
  creator_id uuid,
  CONSTRAINT account_links_pkey PRIMARY KEY (id),
  CONSTRAINT account_links_token_hash_key UNIQUE (token_hash),
  CONSTRAINT account_links_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE,
  CONSTRAINT account_links_org_id_fkey FOREIGN KEY (org_id) REFERENCES organisations(id),
  CONSTRAINT account_links_check CHECK (((kind <> 'invite'::text) OR ((org_id IS NOT NULL) AND (role IS NOT NULL) AND (expires_at IS NOT NULL)))),
  CONSTRAINT account_links_check1 CHECK (((kind <> 'reset'::text) OR ((account_id IS NOT NULL) AND (expires_at IS NOT NULL)))),
  CONSTRAINT account_links_email_check CHECK ((email = lower(email))),
  CONSTRAINT account_links_kind_check CHECK ((kind = ANY (ARRAY['setup'::text, 'invite'::text, 'reset'::text]))),
  CONSTRAINT account_links_role_check CHECK ((role = ANY (ARRAY['viewer'::text, 'member'::text, 'admin'::text, 'owner'::text]))),
  CONSTRAINT account_links_token_hash_check CHECK ((octet_length(token_hash) = 32))
);

CREATE TABLE account_logins (
  id uuid NOT NULL,
  account_id uuid NOT NULL,
  provider text COLLATE "C" NOT NULL,
  subject text COLLATE "C" NOT NULL,
  password_hash text COLLATE "C",
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  updated_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT account_logins_pkey PRIMARY KEY (id),
  CONSTRAINT account_logins_account_id_provider_key UNIQUE (account_id, provider),
  CONSTRAINT account_logins_provider_subject_key UNIQUE (provider, subject),
  CONSTRAINT account_logins_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE,
  CONSTRAINT account_logins_check CHECK (((provider = 'credential'::text) = (password_hash IS NOT NULL))),
  CONSTRAINT account_logins_provider_check CHECK ((provider = ANY (ARRAY['credential'::text, 'oidc'::text])))
);

CREATE TABLE account_sessions (
  id uuid NOT NULL,
  token_hash bytea NOT NULL,
  account_id uuid NOT NULL,
  org_id uuid,
  address text COLLATE "C",
  user_agent text COLLATE "C",
  created_at timestamp with time zone NOT NULL,
  last_used_at timestamp with time zone NOT NULL,
  is_by_oidc boolean NOT NULL DEFAULT false,
  CONSTRAINT account_sessions_pkey PRIMARY KEY (id),
  CONSTRAINT account_sessions_token_hash_key UNIQUE (token_hash),
  CONSTRAINT account_sessions_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE,
  CONSTRAINT account_sessions_token_hash_check CHECK ((octet_length(token_hash) = 32)),
  CONSTRAINT account_sessions_user_agent_check CHECK ((char_length(user_agent) <= 256))
);
CREATE INDEX account_sessions_of_account ON public.account_sessions USING btree (account_id);

CREATE TABLE accounts (
  id uuid NOT NULL,
  email text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  two_factor_enabled boolean NOT NULL DEFAULT false,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  updated_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT accounts_pkey PRIMARY KEY (id),
  CONSTRAINT accounts_email_key UNIQUE (email),
  CONSTRAINT accounts_email_check CHECK (((email = lower(email)) AND ((char_length(email) >= 3) AND (char_length(email) <= 254)))),
  CONSTRAINT accounts_name_check CHECK (((char_length(name) >= 1) AND (char_length(name) <= 128)))
);

CREATE TABLE answer_forms (
  app_id uuid NOT NULL,
  credential_id smallint NOT NULL,
  id smallint NOT NULL,
  form text COLLATE "C" NOT NULL,
  form_hash bytea NOT NULL,
  CONSTRAINT answer_forms_pkey PRIMARY KEY (app_id, credential_id, id),
  CONSTRAINT answer_forms_app_id_credential_id_form_hash_key UNIQUE (app_id, credential_id, form_hash)
);

CREATE TABLE apps (
  id uuid NOT NULL,
  org_id uuid NOT NULL DEFAULT '01930000-0000-7000-8000-000000000001'::uuid,
  name text COLLATE "C" NOT NULL,
  plan text COLLATE "C" NOT NULL,
  default_url text COLLATE "C",
  attribution_window_hours integer NOT NULL DEFAULT 24,
  next_credential_id smallint NOT NULL DEFAULT 1,
  suspended_at timestamp with time zone,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  identify_secret text COLLATE "C",
  identify_secret_next text COLLATE "C",
  identify_bound_required boolean NOT NULL DEFAULT false,
  client_new_names boolean NOT NULL DEFAULT true,
  client_purchases boolean NOT NULL DEFAULT true,
  deleted_names integer NOT NULL DEFAULT 0,
  updated_at timestamp with time zone NOT NULL DEFAULT now(),
  deleted_at timestamp with time zone,
  cleared_at timestamp with time zone,
  identify_form text COLLATE "C" NOT NULL DEFAULT 'hash'::text,
  identify_form_next text COLLATE "C" NOT NULL DEFAULT 'hash'::text,
  CONSTRAINT apps_pkey PRIMARY KEY (id),
  CONSTRAINT apps_attribution_window_hours_check CHECK (((attribution_window_hours >= 1) AND (attribution_window_hours <= 720))),
  CONSTRAINT apps_check CHECK (((identify_secret IS NOT NULL) OR ((identify_secret_next IS NULL) AND (NOT identify_bound_required)))),
  CONSTRAINT apps_check1 CHECK (((cleared_at IS NULL) OR (deleted_at IS NOT NULL))),
  CONSTRAINT apps_identify_form_check CHECK ((identify_form = ANY (ARRAY['token'::text, 'hash'::text]))),
  CONSTRAINT apps_identify_form_next_check CHECK ((identify_form_next = ANY (ARRAY['token'::text, 'hash'::text])))
);

CREATE TABLE attribution_checks (
  app_id uuid NOT NULL,
  checked_at timestamp with time zone NOT NULL,
  CONSTRAINT attribution_checks_pkey PRIMARY KEY (app_id)
);

CREATE TABLE attribution_progress (
  app_id uuid NOT NULL,
  name text COLLATE "C" NOT NULL,
  settled_at timestamp with time zone NOT NULL,
  settled_id uuid NOT NULL,
  received_to uuid NOT NULL,
  CONSTRAINT attribution_progress_pkey PRIMARY KEY (app_id, name)
);

CREATE TABLE attributions (
  app_id uuid NOT NULL,
  subject_id uuid NOT NULL,
  event_id uuid NOT NULL,
  at timestamp with time zone NOT NULL,
  currency text COLLATE "C" NOT NULL,
  amount numeric NOT NULL,
  window_hours integer NOT NULL,
  class text COLLATE "C" NOT NULL,
  message_id uuid,
  CONSTRAINT attributions_pkey PRIMARY KEY (app_id, subject_id, event_id),
  CONSTRAINT attributions_check CHECK (((class = 'unattributed'::text) = (message_id IS NULL))),
  CONSTRAINT attributions_class_check CHECK ((class = ANY (ARRAY['direct'::text, 'influenced'::text, 'unattributed'::text])))
);
CREATE INDEX attributions_at ON public.attributions USING btree (app_id, at);

CREATE TABLE audience (
  app_id uuid NOT NULL,
  device_id uuid NOT NULL,
  created_at timestamp with time zone NOT NULL,
  last_seen_at timestamp with time zone NOT NULL,
  active boolean NOT NULL,
  platform_unit integer NOT NULL GENERATED ALWAYS AS (CASE platform WHEN 'web'::text THEN 1 WHEN 'ios'::text THEN (1 << 30) ELSE 0 END) STORED,
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
  user_created_at timestamp with time zone,
  first_name text COLLATE "C",
  user_timezone text COLLATE "C",
  locale text COLLATE "C",
  timezone text COLLATE "C",
  app_version text COLLATE "C",
  sdk text COLLATE "C",
  os text COLLATE "C",
  os_version text COLLATE "C",
  model text COLLATE "C",
  overflow jsonb NOT NULL DEFAULT '{}'::jsonb,
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
  CONSTRAINT audience_pkey PRIMARY KEY (app_id, device_id),
  CONSTRAINT audience_check CHECK ((num_nulls(user_id, external_id, user_created_at) = ANY (ARRAY[0, 3]))),
  CONSTRAINT audience_check1 CHECK (((user_id IS NOT NULL) OR (num_nonnulls(first_name, country, language, user_timezone) = 0))),
  CONSTRAINT audience_user_number CHECK (
CASE
    WHEN (user_id IS NULL) THEN ((user_block IS NULL) AND (COALESCE(user_bit, 0) = 0))
    ELSE ((user_bit IS NOT NULL) AND ((user_block IS NULL) = (user_bit = 0)))
END)
);
CREATE INDEX audience_active ON public.audience USING btree (app_id, platform) WHERE active;
CREATE INDEX audience_created ON public.audience USING btree (app_id, created_at, device_id);
CREATE INDEX audience_inactive ON public.audience USING btree (app_id, created_at, device_id) WHERE (NOT active);
CREATE INDEX audience_user ON public.audience USING btree (app_id, external_id) WHERE (external_id IS NOT NULL);

CREATE TABLE audit_entries (
  app_id uuid NOT NULL,
  id uuid NOT NULL,
  at timestamp with time zone NOT NULL,
  actor_kind text COLLATE "C" NOT NULL,
  actor_id text COLLATE "C",
  actor_name text COLLATE "C" NOT NULL,
  address text COLLATE "C",
  action text COLLATE "C" NOT NULL,
  target text COLLATE "C",
  before json,
  after json,
  org_id uuid,
  CONSTRAINT audit_entries_pkey PRIMARY KEY (app_id, id),
  CONSTRAINT audit_entries_action_check CHECK ((action ~ '^[a-z_]+\.[a-z_]+$'::text)),
  CONSTRAINT audit_entries_actor_kind_check CHECK ((actor_kind = ANY (ARRAY['person'::text, 'token'::text, 'key'::text, 'cli'::text, 'service'::text]))),
  CONSTRAINT audit_entries_check CHECK (((actor_id IS NULL) = (actor_kind = ANY (ARRAY['cli'::text, 'service'::text]))))
);
CREATE INDEX audit_entries_by_id ON public.audit_entries USING btree (id);
CREATE INDEX audit_entries_of_organisation ON public.audit_entries USING btree (org_id, id) WHERE (org_id IS NOT NULL);

CREATE TABLE batches (
  id uuid NOT NULL,
  app_id uuid NOT NULL,
  message_id uuid NOT NULL,
  device_ids uuid[] STORAGE EXTERNAL NOT NULL,
  size integer NOT NULL,
  state text COLLATE "C" NOT NULL,
  queued_at timestamp with time zone NOT NULL,
  due_at timestamp with time zone NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  available_at timestamp with time zone NOT NULL,
  claim_id uuid,
  claims smallint NOT NULL DEFAULT 0,
  sent integer NOT NULL DEFAULT 0,
  failed integer NOT NULL DEFAULT 0,
  skipped integer NOT NULL DEFAULT 0,
  displayed integer NOT NULL DEFAULT 0,
  clicked integer NOT NULL DEFAULT 0,
  dismissed integer NOT NULL DEFAULT 0,
  finished_at timestamp with time zone,
  pushed boolean NOT NULL DEFAULT false,
  per_second integer,
  skip_reason text COLLATE "C",
  setbacks smallint NOT NULL DEFAULT 0,
  fault text COLLATE "C",
  faults smallint NOT NULL DEFAULT 0,
  kinds bigint NOT NULL DEFAULT 0,
  kinds_noted integer NOT NULL DEFAULT 0,
  CONSTRAINT batches_pkey PRIMARY KEY (id),
  CONSTRAINT batches_check CHECK (((state = 'claimed'::text) = (claim_id IS NOT NULL))),
  CONSTRAINT batches_check1 CHECK (((state = 'done'::text) = (finished_at IS NOT NULL))),
  CONSTRAINT batches_check2 CHECK ((((sent + failed) + skipped) <= size)),
  CONSTRAINT batches_check3 CHECK (((state <> 'done'::text) OR (((sent + failed) + skipped) = size))),
  CONSTRAINT batches_fault_check CHECK (((fault IS NOT NULL) = (faults > 0))) NOT VALID,
  CONSTRAINT batches_per_second_check CHECK (((per_second >= 1) AND (per_second <= 100000))),
  CONSTRAINT batches_skip_reason_check CHECK ((skip_reason = ANY (ARRAY['canceled'::text, 'local_time_past'::text]))),
  CONSTRAINT batches_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'claimed'::text, 'done'::text])))
);
CREATE INDEX batches_by_message ON public.batches USING btree (message_id, id);
CREATE INDEX batches_claimed ON public.batches USING btree (claim_id) WHERE (state = 'claimed'::text);
CREATE INDEX batches_open ON public.batches USING btree (app_id, available_at, id) WHERE ((state <> 'done'::text) AND (per_second IS NULL));
CREATE INDEX batches_paced ON public.batches USING btree (app_id, message_id, id) WHERE ((state <> 'done'::text) AND (per_second IS NOT NULL));

CREATE TABLE client_names (
  app_id uuid NOT NULL,
  name text COLLATE "C" NOT NULL,
  CONSTRAINT client_names_pkey PRIMARY KEY (app_id, name)
);

CREATE TABLE credential_minutes (
  app_id uuid NOT NULL,
  credential_id smallint NOT NULL,
  minute timestamp with time zone NOT NULL,
  refused integer NOT NULL,
  suspicious integer NOT NULL,
  CONSTRAINT credential_minutes_pkey PRIMARY KEY (app_id, credential_id, minute)
);

CREATE TABLE credentials (
  app_id uuid NOT NULL,
  id smallint NOT NULL,
  channel text COLLATE "C" NOT NULL,
  public json NOT NULL,
  secret text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL DEFAULT 'ok'::text,
  suspect_since timestamp with time zone,
  last_success_at timestamp with time zone,
  last_error json,
  last_error_at timestamp with time zone,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  replaced_at timestamp with time zone,
  CONSTRAINT credentials_pkey PRIMARY KEY (app_id, id),
  CONSTRAINT credentials_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps(id),
  CONSTRAINT credentials_channel_check CHECK ((channel = ANY (ARRAY['webpush'::text, 'apns'::text, 'fcm'::text]))),
  CONSTRAINT credentials_check CHECK (((state = 'suspect'::text) = (suspect_since IS NOT NULL))),
  CONSTRAINT credentials_state_check CHECK ((state = ANY (ARRAY['ok'::text, 'suspect'::text, 'failing'::text])))
);
CREATE UNIQUE INDEX credentials_current ON public.credentials USING btree (app_id, channel) WHERE (replaced_at IS NULL);

CREATE TABLE credited_totals (
  app_id uuid NOT NULL,
  name text COLLATE "C" NOT NULL,
  bucket timestamp with time zone NOT NULL,
  currency text COLLATE "C" NOT NULL,
  class text COLLATE "C" NOT NULL,
  message_id uuid NOT NULL,
  count bigint NOT NULL,
  amount numeric NOT NULL,
  CONSTRAINT credited_totals_pkey PRIMARY KEY (app_id, name, bucket, currency, class, message_id),
  CONSTRAINT credited_totals_amount_check CHECK ((amount >= (0)::numeric)),
  CONSTRAINT credited_totals_class_check CHECK ((class = ANY (ARRAY['direct'::text, 'influenced'::text]))),
  CONSTRAINT credited_totals_count_check CHECK ((count > 0)),
  CONSTRAINT credited_totals_name_check CHECK ((name = ANY (ARRAY['purchase'::text, 'install'::text, 'session_start'::text])))
);
CREATE INDEX credited_totals_by_message ON public.credited_totals USING btree (app_id, message_id, name);

CREATE TABLE deliveries (
  batch_id uuid NOT NULL,
  device_id uuid NOT NULL,
  user_id uuid,
  done_at timestamp with time zone NOT NULL,
  displayed_at timestamp with time zone,
  clicked_at timestamp with time zone,
  dismissed_at timestamp with time zone,
  latency_ms integer,
  credential_id smallint,
  channel smallint NOT NULL,
  status smallint NOT NULL,
  error_code smallint,
  attempts smallint NOT NULL,
  provider_status smallint,
  form smallint,
  variant smallint,
  provider_ref text COLLATE "C",
  action text COLLATE "C",
  urls json,
  timeline json,
  CONSTRAINT deliveries_pkey PRIMARY KEY (batch_id, device_id),
  CONSTRAINT deliveries_channel_check CHECK (((channel >= 0) AND (channel <= 2))),
  CONSTRAINT deliveries_check CHECK (((status = 1) = (error_code IS NULL))),
  CONSTRAINT deliveries_check1 CHECK (((status <> 3) OR (error_code > 100))),
  CONSTRAINT deliveries_check2 CHECK (((status <> ALL (ARRAY[0, 2])) OR (error_code <= 12))),
  CONSTRAINT deliveries_status_check CHECK (((status >= 0) AND (status <= 3)))
) PARTITION BY RANGE (batch_id);
CREATE INDEX deliveries_by_person ON ONLY public.deliveries USING btree (COALESCE(user_id, device_id), batch_id);

CREATE TABLE delivery_deltas (
  app_id uuid NOT NULL,
  bucket timestamp with time zone NOT NULL,
  channel smallint NOT NULL,
  vendor smallint NOT NULL,
  code smallint NOT NULL,
  step smallint NOT NULL,
  count bigint NOT NULL,
  CONSTRAINT delivery_deltas_count_check CHECK ((count > 0))
);

CREATE TABLE delivery_totals (
  app_id uuid NOT NULL,
  bucket timestamp with time zone NOT NULL,
  channel smallint NOT NULL,
  vendor smallint NOT NULL,
  code smallint NOT NULL,
  step smallint NOT NULL,
  count bigint NOT NULL,
  CONSTRAINT delivery_totals_pkey PRIMARY KEY (app_id, bucket, channel, vendor, code, step),
  CONSTRAINT delivery_totals_channel_check CHECK (((channel >= 0) AND (channel <= 2))),
  CONSTRAINT delivery_totals_code_check CHECK (((code >= 0) AND (code <= 12))),
  CONSTRAINT delivery_totals_count_check CHECK ((count > 0)),
  CONSTRAINT delivery_totals_step_check CHECK (((step >= 0) AND (step <= 27))),
  CONSTRAINT delivery_totals_vendor_check CHECK (((vendor >= 0) AND (vendor <= 4)))
);
CREATE INDEX delivery_totals_bucket ON public.delivery_totals USING brin (bucket);

CREATE TABLE device_changes (
  app_id uuid NOT NULL,
  device_id uuid NOT NULL,
  id uuid NOT NULL,
  at timestamp with time zone NOT NULL,
  platform text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  reason text COLLATE "C",
  credential_id smallint,
  CONSTRAINT device_changes_pkey PRIMARY KEY (app_id, device_id, id),
  CONSTRAINT device_changes_status_check CHECK ((status = ANY (ARRAY['active'::text, 'invalid'::text, 'unsubscribed'::text])))
);
CREATE INDEX device_changes_at ON public.device_changes USING btree (app_id, at);
CREATE INDEX device_changes_by_credential ON public.device_changes USING btree (app_id, credential_id, at) WHERE (credential_id IS NOT NULL);

CREATE TABLE device_counts (
  app_id uuid NOT NULL,
  counted_at timestamp with time zone NOT NULL,
  CONSTRAINT device_counts_pkey PRIMARY KEY (app_id)
);

CREATE TABLE device_deltas (
  app_id uuid NOT NULL,
  bucket timestamp with time zone NOT NULL,
  platform text COLLATE "C" NOT NULL,
  registered bigint NOT NULL,
  invalid bigint NOT NULL,
  unsubscribed bigint NOT NULL,
  gained bigint NOT NULL
);

CREATE TABLE device_tokens (
  app_id uuid NOT NULL,
  platform text COLLATE "C" NOT NULL,
  token_hash bytea NOT NULL,
  device_id uuid NOT NULL,
  CONSTRAINT device_tokens_pkey PRIMARY KEY (app_id, platform, token_hash)
);

CREATE TABLE device_totals (
  app_id uuid NOT NULL,
  bucket timestamp with time zone NOT NULL,
  platform text COLLATE "C" NOT NULL,
  registered bigint NOT NULL,
  invalid bigint NOT NULL,
  unsubscribed bigint NOT NULL,
  gained bigint NOT NULL,
  CONSTRAINT device_totals_pkey PRIMARY KEY (app_id, bucket, platform)
);

CREATE TABLE devices (
  app_id uuid NOT NULL,
  id uuid NOT NULL,
  platform text COLLATE "C" NOT NULL,
  token text COLLATE "C",
  token_hash bytea NOT NULL,
  token_hint text COLLATE "C",
  credential_id smallint,
  environment text COLLATE "C",
  environment_found text COLLATE "C",
  properties jsonb NOT NULL DEFAULT '{}'::jsonb,
  status text COLLATE "C" NOT NULL,
  status_reason text COLLATE "C",
  mismatches smallint NOT NULL DEFAULT 0,
  registered_at timestamp with time zone NOT NULL,
  identified_at timestamp with time zone,
  by_client boolean NOT NULL DEFAULT false,
  is_reached boolean NOT NULL DEFAULT false,
  unresolved_messages smallint NOT NULL DEFAULT 0,
  unresolved_since timestamp with time zone,
  changed_at timestamp with time zone,
  CONSTRAINT devices_pkey PRIMARY KEY (app_id, id),
  CONSTRAINT devices_check CHECK (((status = 'invalid'::text) = (status_reason IS NOT NULL))),
  CONSTRAINT devices_check1 CHECK (((status <> 'active'::text) OR (token IS NOT NULL))),
  CONSTRAINT devices_check2 CHECK (((status <> 'unsubscribed'::text) OR (token IS NULL))),
  CONSTRAINT devices_check3 CHECK (((token IS NULL) = (token_hint IS NULL))),
  CONSTRAINT devices_check4 CHECK (((environment IS NULL) OR (platform = 'ios'::text))),
  CONSTRAINT devices_environment_check CHECK ((environment = ANY (ARRAY['production'::text, 'sandbox'::text]))),
  CONSTRAINT devices_environment_found_check CHECK ((environment_found = ANY (ARRAY['production'::text, 'sandbox'::text]))),
  CONSTRAINT devices_platform_check CHECK ((platform = ANY (ARRAY['web'::text, 'ios'::text, 'android'::text]))),
  CONSTRAINT devices_status_check CHECK ((status = ANY (ARRAY['active'::text, 'invalid'::text, 'unsubscribed'::text]))),
  CONSTRAINT devices_status_reason_check CHECK ((status_reason = ANY (ARRAY['unregistered'::text, 'invalid_token'::text, 'credential_mismatch'::text, 'replaced'::text]))),
  CONSTRAINT devices_token_hash_check CHECK ((octet_length(token_hash) = 32)),
  CONSTRAINT devices_unresolved CHECK (((unresolved_messages = 0) = (unresolved_since IS NULL))) NOT VALID
);
CREATE INDEX devices_unreached ON public.devices USING btree (app_id, id) WHERE (by_client AND (NOT is_reached));

CREATE TABLE drafts (
  app_id uuid NOT NULL,
  id uuid NOT NULL,
  name text COLLATE "C" NOT NULL,
  message json NOT NULL,
  changed_by text COLLATE "C" NOT NULL,
  created_at timestamp with time zone NOT NULL,
  updated_at timestamp with time zone NOT NULL,
  CONSTRAINT drafts_pkey PRIMARY KEY (app_id, id),
  CONSTRAINT drafts_name_check CHECK ((char_length(name) <= 128))
);

CREATE TABLE early_receipts (
  batch_id uuid NOT NULL,
  device_id uuid NOT NULL,
  mark text COLLATE "C" NOT NULL,
  at timestamp with time zone NOT NULL,
  action text COLLATE "C",
  CONSTRAINT early_receipts_pkey PRIMARY KEY (batch_id, device_id, mark),
  CONSTRAINT early_receipts_mark_check CHECK ((mark = ANY (ARRAY['displayed'::text, 'clicked'::text, 'dismissed'::text])))
);

CREATE TABLE erasures (
  app_id uuid NOT NULL,
  user_id uuid NOT NULL,
  device_ids uuid[] NOT NULL,
  forgotten_ids uuid[] NOT NULL,
  at timestamp with time zone NOT NULL,
  turn_id uuid,
  turn_until timestamp with time zone,
  done_name text COLLATE "C",
  done_day date,
  CONSTRAINT erasures_pkey PRIMARY KEY (app_id, user_id),
  CONSTRAINT erasures_check CHECK ((cardinality(device_ids) = cardinality(forgotten_ids))),
  CONSTRAINT erasures_check1 CHECK (((done_name IS NULL) = (done_day IS NULL)))
);
CREATE INDEX erasures_at ON public.erasures USING btree (app_id, at);

CREATE TABLE event_ids (
  app_id uuid NOT NULL,
  key uuid NOT NULL,
  at timestamp with time zone NOT NULL,
  CONSTRAINT event_ids_pkey PRIMARY KEY (app_id, key)
);
CREATE INDEX event_ids_at ON public.event_ids USING brin (at);

CREATE TABLE event_names (
  app_id uuid NOT NULL,
  name text COLLATE "C" NOT NULL,
  count bigint NOT NULL,
  last_at timestamp with time zone NOT NULL,
  counted_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT event_names_pkey PRIMARY KEY (app_id, name),
  CONSTRAINT event_names_count_check CHECK ((count > 0))
);

CREATE TABLE event_properties (
  app_id uuid NOT NULL,
  name text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL,
  samples jsonb NOT NULL DEFAULT '[]'::jsonb,
  by_client boolean NOT NULL DEFAULT false,
  sample_subjects jsonb NOT NULL DEFAULT '{}'::jsonb,
  CONSTRAINT event_properties_pkey PRIMARY KEY (app_id, name, key, type),
  CONSTRAINT event_properties_samples_check CHECK ((jsonb_array_length(samples) <= 5)),
  CONSTRAINT event_properties_type_check CHECK ((type = ANY (ARRAY['string'::text, 'number'::text, 'boolean'::text, 'object'::text, 'array'::text, 'null'::text])))
);

CREATE TABLE event_retention (
  is_only boolean NOT NULL DEFAULT true,
  kept_since timestamp with time zone NOT NULL,
  CONSTRAINT event_retention_pkey PRIMARY KEY (is_only),
  CONSTRAINT event_retention_is_only_check CHECK (is_only)
);

CREATE TABLE events (
  app_id uuid NOT NULL,
  subject_id uuid NOT NULL,
  id uuid NOT NULL,
  name text COLLATE "C" NOT NULL,
  at timestamp with time zone NOT NULL,
  device_id uuid,
  external_id text COLLATE "C",
  properties jsonb NOT NULL DEFAULT '{}'::jsonb,
  amount numeric,
  currency text COLLATE "C",
  CONSTRAINT events_amount_check CHECK ((amount >= (0)::numeric)),
  CONSTRAINT events_amount_currency_check CHECK (((amount IS NULL) = (currency IS NULL))),
  CONSTRAINT events_purchase_check CHECK (((amount IS NULL) OR (name = 'purchase'::text)))
) PARTITION BY RANGE (at);
CREATE INDEX events_at ON ONLY public.events USING brin (at, subject_id uuid_bloom_ops (n_distinct_per_range='3000')) WITH (pages_per_range='64');
CREATE INDEX events_late ON ONLY public.events USING btree (app_id, name, id) WHERE ((name = ANY (ARRAY['purchase'::text, 'install'::text, 'session_start'::text])) AND (at < to_timestamp(((((((('x'::text || "left"(replace((id)::text, '-'::text, ''::text), 12)))::bit(48))::bigint)::numeric / 1000.0) - (240)::numeric))::double precision)));
CREATE INDEX events_named ON ONLY public.events USING btree (app_id, name, at);
CREATE INDEX events_purchases ON ONLY public.events USING btree (app_id, at, id) WHERE (name = 'purchase'::text);

CREATE TABLE field_uses (
  app_id uuid NOT NULL,
  field text COLLATE "C" NOT NULL,
  previews integer NOT NULL,
  last_preview_at timestamp with time zone NOT NULL,
  CONSTRAINT field_uses_pkey PRIMARY KEY (app_id, field),
  CONSTRAINT field_uses_previews_check CHECK ((previews > 0))
);

CREATE TABLE former_links (
  app_id uuid NOT NULL,
  device_id uuid NOT NULL,
  user_id uuid NOT NULL,
  until timestamp with time zone NOT NULL,
  CONSTRAINT former_links_pkey PRIMARY KEY (app_id, device_id, user_id)
);
CREATE INDEX former_links_by_user ON public.former_links USING btree (app_id, user_id);
CREATE INDEX former_links_until ON public.former_links USING btree (app_id, until);

CREATE TABLE hearings (
  app_id uuid NOT NULL,
  id uuid NOT NULL,
  judged_at timestamp with time zone NOT NULL,
  CONSTRAINT hearings_pkey PRIMARY KEY (app_id, id)
);

CREATE TABLE imports (
  app_id uuid NOT NULL,
  fingerprint bytea NOT NULL,
  position bigint NOT NULL,
  progress jsonb NOT NULL,
  updated_at timestamp with time zone NOT NULL,
  CONSTRAINT imports_pkey PRIMARY KEY (app_id, fingerprint),
  CONSTRAINT imports_fingerprint_check CHECK ((octet_length(fingerprint) = 32)),
  CONSTRAINT imports_position_check CHECK (("position" >= 0))
);

CREATE TABLE instance (
  id smallint NOT NULL,
  system_identifier text COLLATE "C" NOT NULL,
  paused_at timestamp with time zone,
  pause_reason text COLLATE "C",
  receipt_keys text[] COLLATE "C" NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  ignored_forwarder text COLLATE "C",
  ignored_forwarder_at timestamp with time zone,
  receipt_keys_made_at timestamp with time zone[] NOT NULL DEFAULT '{}'::timestamp with time zone[],
  receipt_keys_forgotten integer NOT NULL DEFAULT 0,
  stepped_clock text COLLATE "C",
  stepped_by_ms bigint,
  stepped_at timestamp with time zone,
  CONSTRAINT instance_pkey PRIMARY KEY (id),
  CONSTRAINT instance_check CHECK (((paused_at IS NULL) = (pause_reason IS NULL))),
  CONSTRAINT instance_forwarder CHECK (((ignored_forwarder IS NULL) = (ignored_forwarder_at IS NULL))),
  CONSTRAINT instance_id_check CHECK ((id = 1)),
  CONSTRAINT instance_receipt_keys_check CHECK ((cardinality(receipt_keys) >= 1)),
  CONSTRAINT instance_receipt_keys_forgotten_check CHECK ((receipt_keys_forgotten >= 0)),
  CONSTRAINT instance_stepped_clock_check CHECK ((stepped_clock = ANY (ARRAY['host'::text, 'database'::text, 'both'::text])))
);

CREATE TABLE keys (
  app_id uuid NOT NULL,
  id uuid NOT NULL,
  scope text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  hash bytea NOT NULL,
  start text COLLATE "C" NOT NULL,
  last4 text COLLATE "C" NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  created_by text COLLATE "C" NOT NULL,
  last_used_at timestamp with time zone,
  expires_at timestamp with time zone,
  revoked_at timestamp with time zone,
  session_id uuid,
  CONSTRAINT keys_pkey PRIMARY KEY (app_id, id),
  CONSTRAINT keys_hash_app_id_key UNIQUE (hash, app_id),
  CONSTRAINT keys_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps(id),
  CONSTRAINT keys_hash_check CHECK ((octet_length(hash) = 32)),
  CONSTRAINT keys_scope_check CHECK ((scope = ANY (ARRAY['server'::text, 'client'::text])))
);

CREATE TABLE locale_passes (
  due_at timestamp with time zone NOT NULL,
  CONSTRAINT locale_passes_pkey PRIMARY KEY (due_at)
);

CREATE TABLE login_failures (
  subject bytea NOT NULL,
  failures integer NOT NULL,
  since timestamp with time zone NOT NULL,
  last_at timestamp with time zone NOT NULL,
  CONSTRAINT login_failures_pkey PRIMARY KEY (subject),
  CONSTRAINT login_failures_failures_check CHECK ((failures > 0)),
  CONSTRAINT login_failures_subject_check CHECK ((octet_length(subject) = 32))
);

CREATE TABLE login_steps (
  id uuid NOT NULL,
  identifier text COLLATE "C" NOT NULL,
  value text COLLATE "C" NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  updated_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT login_steps_pkey PRIMARY KEY (id)
);
CREATE INDEX login_steps_by_identifier ON public.login_steps USING btree (identifier);

CREATE UNLOGGED TABLE lookouts (
  id smallint NOT NULL,
  holder uuid NOT NULL,
  held_until timestamp with time zone NOT NULL,
  watched_since timestamp with time zone NOT NULL DEFAULT 'infinity'::timestamp with time zone,
  CONSTRAINT lookouts_pkey PRIMARY KEY (id),
  CONSTRAINT lookouts_id_check CHECK ((id = 1))
);

CREATE TABLE members (
  org_id uuid NOT NULL,
  account_id uuid NOT NULL,
  role text COLLATE "C" NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  updated_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT members_pkey PRIMARY KEY (org_id, account_id),
  CONSTRAINT members_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE,
  CONSTRAINT members_org_id_fkey FOREIGN KEY (org_id) REFERENCES organisations(id),
  CONSTRAINT members_role_check CHECK ((role = ANY (ARRAY['viewer'::text, 'member'::text, 'admin'::text, 'owner'::text])))
);
CREATE INDEX members_of_account ON public.members USING btree (account_id);

CREATE UNLOGGED TABLE message_paces (
  app_id uuid NOT NULL,
  message_id uuid NOT NULL,
  next_at timestamp with time zone NOT NULL DEFAULT now(),
  tokens double precision NOT NULL DEFAULT 0,
  per_second double precision NOT NULL DEFAULT 1,
  granted integer NOT NULL DEFAULT 0,
  asked_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT message_paces_pkey PRIMARY KEY (app_id, message_id)
);

CREATE TABLE messages (
  app_id uuid NOT NULL,
  id uuid NOT NULL,
  idempotency_key text COLLATE "C",
  fingerprint bytea NOT NULL,
  status text COLLATE "C" NOT NULL,
  status_reason text COLLATE "C",
  name text COLLATE "C",
  metadata json,
  category text COLLATE "C",
  created_by json NOT NULL,
  audience json NOT NULL,
  audience_unmatched integer NOT NULL DEFAULT 0,
  exclude_segment_id uuid,
  content json NOT NULL,
  title text COLLATE "C",
  run_at timestamp with time zone,
  local_send_at text COLLATE "C",
  local_time_past text COLLATE "C",
  per_second integer,
  created_at timestamp with time zone NOT NULL,
  started_at timestamp with time zone,
  finished_at timestamp with time zone,
  expires_at timestamp with time zone,
  charged_month date,
  charged_units integer NOT NULL DEFAULT 0,
  first_batch_id uuid,
  last_batch_id uuid,
  webpush_accepted integer NOT NULL DEFAULT 0,
  webpush_sent integer NOT NULL DEFAULT 0,
  webpush_failed integer NOT NULL DEFAULT 0,
  webpush_skipped integer NOT NULL DEFAULT 0,
  apns_accepted integer NOT NULL DEFAULT 0,
  apns_sent integer NOT NULL DEFAULT 0,
  apns_failed integer NOT NULL DEFAULT 0,
  apns_skipped integer NOT NULL DEFAULT 0,
  fcm_accepted integer NOT NULL DEFAULT 0,
  fcm_sent integer NOT NULL DEFAULT 0,
  fcm_failed integer NOT NULL DEFAULT 0,
  fcm_skipped integer NOT NULL DEFAULT 0,
  error_counts jsonb NOT NULL DEFAULT '{}'::jsonb,
  next_start_at timestamp with time zone,
  starts smallint NOT NULL DEFAULT 0,
  CONSTRAINT messages_pkey PRIMARY KEY (app_id, id),
  CONSTRAINT messages_check CHECK (((status = ANY (ARRAY['sent'::text, 'failed'::text, 'canceled'::text])) = (finished_at IS NOT NULL))),
  CONSTRAINT messages_check1 CHECK (((status = 'scheduled'::text) <= ((run_at IS NOT NULL) AND (started_at IS NULL)))),
  CONSTRAINT messages_check10 CHECK (((started_at IS NULL) = (expires_at IS NULL))),
  CONSTRAINT messages_check11 CHECK (((status_reason IS NULL) OR (status = ANY (ARRAY['failed'::text, 'canceled'::text])))),
  CONSTRAINT messages_check12 CHECK (((status_reason IS NULL) OR (status <> 'canceled'::text) OR (status_reason = 'app_suspended'::text))),
  CONSTRAINT messages_check13 CHECK (((status <> 'failed'::text) OR (started_at IS NOT NULL) OR (status_reason IS NOT NULL))),
  CONSTRAINT messages_check14 CHECK (((started_at IS NULL) OR (status_reason IS NULL) OR (status_reason = ANY (ARRAY['app_suspended'::text, 'internal_error'::text])))),
  CONSTRAINT messages_check15 CHECK (((local_send_at IS NULL) = (local_time_past IS NULL))),
  CONSTRAINT messages_check16 CHECK (((local_send_at IS NULL) OR (run_at IS NOT NULL))),
  CONSTRAINT messages_check2 CHECK (((status = ANY (ARRAY['sending'::text, 'sent'::text])) <= (started_at IS NOT NULL))),
  CONSTRAINT messages_check3 CHECK ((((webpush_sent + webpush_failed) + webpush_skipped) <= webpush_accepted)),
  CONSTRAINT messages_check4 CHECK ((((apns_sent + apns_failed) + apns_skipped) <= apns_accepted)),
  CONSTRAINT messages_check5 CHECK ((((fcm_sent + fcm_failed) + fcm_skipped) <= fcm_accepted)),
  CONSTRAINT messages_check6 CHECK (((status <> 'sent'::text) OR (((webpush_accepted + apns_accepted) + fcm_accepted) = ((((((((webpush_sent + webpush_failed) + webpush_skipped) + apns_sent) + apns_failed) + apns_skipped) + fcm_sent) + fcm_failed) + fcm_skipped)))),
  CONSTRAINT messages_check7 CHECK (((status = 'scheduled'::text) = (next_start_at IS NOT NULL))),
  CONSTRAINT messages_check8 CHECK (((started_at IS NOT NULL) OR (run_at IS NOT NULL))),
  CONSTRAINT messages_check9 CHECK (((started_at IS NOT NULL) OR ((((webpush_accepted + apns_accepted) + fcm_accepted) = 0) AND (first_batch_id IS NULL) AND (charged_month IS NULL) AND (charged_units = 0)))),
  CONSTRAINT messages_local_time_past_check CHECK ((local_time_past = ANY (ARRAY['refuse'::text, 'now'::text, 'skip'::text]))),
  CONSTRAINT messages_per_second_check CHECK (((per_second >= 1) AND (per_second <= 100000))),
  CONSTRAINT messages_status_check CHECK ((status = ANY (ARRAY['scheduled'::text, 'sending'::text, 'sent'::text, 'failed'::text, 'canceled'::text]))),
  CONSTRAINT messages_status_reason_check CHECK ((status_reason = ANY (ARRAY['quota_exceeded'::text, 'segment_invalid'::text, 'app_suspended'::text, 'expired'::text, 'internal_error'::text])))
);
CREATE INDEX messages_created ON public.messages USING btree (app_id, created_at, id);
CREATE INDEX messages_due ON public.messages USING btree (next_start_at) WHERE (status = 'scheduled'::text);
CREATE INDEX messages_due_by_app ON public.messages USING btree (app_id, next_start_at, id) WHERE (status = 'scheduled'::text);
CREATE UNIQUE INDEX messages_idempotency ON public.messages USING btree (app_id, idempotency_key) WHERE (idempotency_key IS NOT NULL);
CREATE INDEX messages_name ON public.messages USING btree (app_id, name) WHERE (name IS NOT NULL);
CREATE INDEX messages_name_lower ON public.messages USING btree (app_id, lower(name)) WHERE (name IS NOT NULL);
CREATE INDEX messages_scheduled_by_segment ON public.messages USING btree (app_id, ((audience ->> 'segment_id'::text)), exclude_segment_id) WHERE (status = 'scheduled'::text);
CREATE INDEX messages_sending ON public.messages USING btree (app_id, id) WHERE (status = 'sending'::text);
CREATE INDEX messages_started ON public.messages USING btree (app_id, started_at, id) WHERE (started_at IS NOT NULL);

CREATE TABLE open_credits (
  app_id uuid NOT NULL,
  name text COLLATE "C" NOT NULL,
  event_id uuid NOT NULL,
  subject_id uuid NOT NULL,
  at timestamp with time zone NOT NULL,
  currency text COLLATE "C" NOT NULL,
  amount numeric NOT NULL,
  class text COLLATE "C" NOT NULL,
  message_id uuid NOT NULL,
  CONSTRAINT open_credits_pkey PRIMARY KEY (app_id, name, event_id),
  CONSTRAINT open_credits_amount_check CHECK ((amount >= (0)::numeric)),
  CONSTRAINT open_credits_class_check CHECK ((class = ANY (ARRAY['direct'::text, 'influenced'::text]))),
  CONSTRAINT open_credits_name_check CHECK ((name = ANY (ARRAY['purchase'::text, 'install'::text, 'session_start'::text])))
);
CREATE INDEX open_credits_at ON public.open_credits USING btree (app_id, name, at);
CREATE INDEX open_credits_by_subject ON public.open_credits USING btree (app_id, subject_id);

CREATE TABLE open_progress (
  app_id uuid NOT NULL,
  window_hours integer NOT NULL,
  classed_to timestamp with time zone NOT NULL,
  received_to uuid NOT NULL,
  CONSTRAINT open_progress_pkey PRIMARY KEY (app_id)
);

CREATE TABLE operator_tokens (
  id uuid NOT NULL,
  org_id uuid NOT NULL,
  name text COLLATE "C" NOT NULL,
  role text COLLATE "C" NOT NULL,
  hash bytea NOT NULL,
  start text COLLATE "C" NOT NULL,
  last4 text COLLATE "C" NOT NULL,
  created_by text COLLATE "C" NOT NULL,
  created_at timestamp with time zone NOT NULL,
  last_used_at timestamp with time zone,
  revoked_at timestamp with time zone,
  creator_id uuid,
  CONSTRAINT operator_tokens_pkey PRIMARY KEY (id),
  CONSTRAINT operator_tokens_hash_key UNIQUE (hash),
  CONSTRAINT operator_tokens_org_id_fkey FOREIGN KEY (org_id) REFERENCES organisations(id),
  CONSTRAINT operator_tokens_hash_check CHECK ((octet_length(hash) = 32)),
  CONSTRAINT operator_tokens_name_check CHECK (((char_length(name) >= 1) AND (char_length(name) <= 128))),
  CONSTRAINT operator_tokens_role_check CHECK ((role = ANY (ARRAY['viewer'::text, 'member'::text, 'admin'::text, 'owner'::text])))
);
CREATE INDEX operator_tokens_of_organisation ON public.operator_tokens USING btree (org_id, id);

CREATE TABLE organisations (
  id uuid NOT NULL,
  name text COLLATE "C" NOT NULL,
  require_two_factor boolean NOT NULL DEFAULT false,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  updated_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT organisations_pkey PRIMARY KEY (id),
  CONSTRAINT organisations_name_check CHECK (((char_length(name) >= 1) AND (char_length(name) <= 128)))
);

CREATE TABLE people (
  app_id uuid NOT NULL,
  external_id text COLLATE "C" NOT NULL,
  user_id uuid NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT people_pkey PRIMARY KEY (app_id, external_id)
);
CREATE INDEX people_user ON public.people USING btree (app_id, user_id);

CREATE TABLE people_changes (
  app_id uuid NOT NULL,
  id uuid NOT NULL,
  ids uuid[] NOT NULL,
  CONSTRAINT people_changes_pkey PRIMARY KEY (app_id, id)
);

CREATE TABLE properties (
  app_id uuid NOT NULL,
  id integer NOT NULL,
  key text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL,
  slot smallint,
  first_seen_at timestamp with time zone,
  last_seen_at timestamp with time zone,
  users_count integer NOT NULL DEFAULT 0,
  samples jsonb NOT NULL DEFAULT '[]'::jsonb,
  conflicts_count integer NOT NULL DEFAULT 0,
  last_conflict_at timestamp with time zone,
  move_slot smallint,
  move_phase text COLLATE "C",
  moved_at timestamp with time zone,
  moved_by xid8,
  conflict_days jsonb NOT NULL DEFAULT '{}'::jsonb,
  CONSTRAINT properties_pkey PRIMARY KEY (app_id, id),
  CONSTRAINT properties_app_id_key_key UNIQUE (app_id, key),
  CONSTRAINT properties_check CHECK (((type <> 'boolean'::text) OR (slot <= 10))),
  CONSTRAINT properties_check1 CHECK (((conflicts_count = 0) = (last_conflict_at IS NULL))),
  CONSTRAINT properties_move CHECK ((num_nulls(move_slot, move_phase, moved_at, moved_by) = ANY (ARRAY[0, 4]))),
  CONSTRAINT properties_move_bool CHECK (((type <> 'boolean'::text) OR (move_slot <= 10))),
  CONSTRAINT properties_move_one CHECK ((slot = move_slot)),
  CONSTRAINT properties_move_phase_check CHECK ((move_phase = ANY (ARRAY['filling'::text, 'switched'::text, 'clearing'::text]))),
  CONSTRAINT properties_move_slot_check CHECK (((move_slot >= 1) AND (move_slot <= 30))),
  CONSTRAINT properties_samples_check CHECK ((jsonb_array_length(samples) <= 5)),
  CONSTRAINT properties_slot_check CHECK (((slot >= 1) AND (slot <= 30))),
  CONSTRAINT properties_type_check CHECK ((type = ANY (ARRAY['string'::text, 'number'::text, 'boolean'::text])))
);
CREATE UNIQUE INDEX properties_move_slot ON public.properties USING btree (app_id, type, move_slot) WHERE (move_slot IS NOT NULL);
CREATE UNIQUE INDEX properties_slot ON public.properties USING btree (app_id, type, slot) WHERE (slot IS NOT NULL);

CREATE TABLE property_catalogs (
  app_id uuid NOT NULL,
  next_property_id integer NOT NULL,
  counted_at timestamp with time zone,
  CONSTRAINT property_catalogs_pkey PRIMARY KEY (app_id)
);

CREATE UNLOGGED TABLE provider_paces (
  name text COLLATE "C" NOT NULL,
  started_at timestamp with time zone NOT NULL DEFAULT now(),
  next_at timestamp with time zone NOT NULL DEFAULT now(),
  tokens double precision NOT NULL DEFAULT 0,
  per_second double precision NOT NULL DEFAULT 1,
  granted integer NOT NULL DEFAULT 0,
  asked_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT provider_paces_pkey PRIMARY KEY (name)
);

CREATE UNLOGGED TABLE rate_limits (
  app_id uuid NOT NULL,
  key_id uuid NOT NULL,
  full_at timestamp with time zone NOT NULL,
  granted integer NOT NULL,
  CONSTRAINT rate_limits_pkey PRIMARY KEY (app_id, key_id),
  CONSTRAINT rate_limits_granted_check CHECK ((granted >= 1))
);

CREATE TABLE report_rebuilds (
  app_id uuid NOT NULL,
  asked_at timestamp with time zone NOT NULL,
  from_at timestamp with time zone,
  to_at timestamp with time zone,
  started_at timestamp with time zone,
  finished_at timestamp with time zone,
  failed boolean NOT NULL DEFAULT false,
  events bigint,
  purchases bigint,
  tries smallint NOT NULL DEFAULT 0,
  CONSTRAINT report_rebuilds_pkey PRIMARY KEY (app_id),
  CONSTRAINT report_rebuilds_check CHECK ((from_at < to_at)),
  CONSTRAINT report_rebuilds_check1 CHECK (((finished_at IS NULL) OR (started_at IS NOT NULL))),
  CONSTRAINT report_rebuilds_check2 CHECK (((NOT failed) OR (finished_at IS NOT NULL))),
  CONSTRAINT report_rebuilds_check3 CHECK (((events IS NULL) = (purchases IS NULL))),
  CONSTRAINT report_rebuilds_tries_check CHECK ((tries >= 0))
);
CREATE INDEX report_rebuilds_open ON public.report_rebuilds USING btree (asked_at) WHERE (finished_at IS NULL);

CREATE UNLOGGED TABLE request_chunks (
  app_id uuid NOT NULL,
  id uuid NOT NULL,
  refused boolean NOT NULL,
  size integer NOT NULL,
  entries json NOT NULL,
  CONSTRAINT request_chunks_pkey PRIMARY KEY (app_id, refused, id),
  CONSTRAINT request_chunks_size_check CHECK ((size > 0))
);

CREATE TABLE retired_properties (
  app_id uuid NOT NULL,
  id integer NOT NULL,
  type text COLLATE "C" NOT NULL,
  slot smallint,
  retired_at timestamp with time zone NOT NULL,
  CONSTRAINT retired_properties_pkey PRIMARY KEY (app_id, id)
);

CREATE TABLE rollup_deltas (
  app_id uuid NOT NULL,
  name text COLLATE "C" NOT NULL,
  bucket timestamp with time zone NOT NULL,
  currency text COLLATE "C" NOT NULL,
  count bigint NOT NULL,
  amount numeric NOT NULL,
  last_at timestamp with time zone NOT NULL,
  CONSTRAINT rollup_deltas_amount_check CHECK ((amount >= (0)::numeric)),
  CONSTRAINT rollup_deltas_count_check CHECK ((count > 0))
);

CREATE TABLE rollups (
  app_id uuid NOT NULL,
  name text COLLATE "C" NOT NULL,
  bucket timestamp with time zone NOT NULL,
  currency text COLLATE "C" NOT NULL,
  count bigint NOT NULL,
  amount numeric NOT NULL,
  last_at timestamp with time zone NOT NULL,
  CONSTRAINT rollups_pkey PRIMARY KEY (app_id, name, bucket, currency),
  CONSTRAINT rollups_amount_check CHECK ((amount >= (0)::numeric)),
  CONSTRAINT rollups_count_check CHECK ((count > 0))
);

CREATE TABLE schema_migrations (
  number integer NOT NULL,
  name text COLLATE "C" NOT NULL,
  checksum text COLLATE "C" NOT NULL,
  applied_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT schema_migrations_pkey PRIMARY KEY (number)
);

CREATE TABLE second_factors (
  id uuid NOT NULL,
  account_id uuid NOT NULL,
  secret text COLLATE "C" NOT NULL,
  backup_codes text COLLATE "C" NOT NULL,
  is_verified boolean NOT NULL DEFAULT false,
  last_step bigint NOT NULL DEFAULT 0,
  CONSTRAINT second_factors_pkey PRIMARY KEY (id),
  CONSTRAINT second_factors_account_id_key UNIQUE (account_id),
  CONSTRAINT second_factors_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE
);

CREATE TABLE segments (
  app_id uuid NOT NULL,
  id uuid NOT NULL,
  name text COLLATE "C" NOT NULL,
  description text COLLATE "C",
  filter json NOT NULL,
  fields text[] COLLATE "C" NOT NULL,
  created_at timestamp with time zone NOT NULL,
  updated_at timestamp with time zone NOT NULL,
  CONSTRAINT segments_pkey PRIMARY KEY (app_id, id),
  CONSTRAINT segments_app_id_name_key UNIQUE (app_id, name)
);
CREATE INDEX segments_created ON public.segments USING btree (app_id, created_at, id);

CREATE TABLE subject_events (
  app_id uuid NOT NULL,
  name text COLLATE "C" NOT NULL,
  subject_id uuid NOT NULL,
  day date NOT NULL,
  count integer NOT NULL,
  last_at timestamp with time zone NOT NULL,
  CONSTRAINT subject_events_pkey PRIMARY KEY (app_id, name, subject_id, day),
  CONSTRAINT subject_events_count_check CHECK ((count > 0))
) PARTITION BY RANGE (day);

CREATE TABLE template_versions (
  app_id uuid NOT NULL,
  template_id uuid NOT NULL,
  version integer NOT NULL,
  content json NOT NULL,
  created_by text COLLATE "C" NOT NULL,
  created_at timestamp with time zone NOT NULL,
  CONSTRAINT template_versions_pkey PRIMARY KEY (app_id, template_id, version),
  CONSTRAINT template_versions_version_check CHECK ((version > 0))
);

CREATE TABLE templates (
  app_id uuid NOT NULL,
  id uuid NOT NULL,
  name text COLLATE "C" NOT NULL,
  version integer NOT NULL,
  created_at timestamp with time zone NOT NULL,
  updated_at timestamp with time zone NOT NULL,
  CONSTRAINT templates_pkey PRIMARY KEY (app_id, id),
  CONSTRAINT templates_app_id_name_key UNIQUE (app_id, name),
  CONSTRAINT templates_name_check CHECK (((char_length(name) >= 1) AND (char_length(name) <= 128))),
  CONSTRAINT templates_version_check CHECK ((version > 0))
);

CREATE TABLE test_users (
  app_id uuid NOT NULL,
  external_ids text[] COLLATE "C" NOT NULL,
  device_ids uuid[] NOT NULL,
  updated_at timestamp with time zone NOT NULL,
  CONSTRAINT test_users_pkey PRIMARY KEY (app_id),
  CONSTRAINT test_users_check CHECK (((cardinality(external_ids) + cardinality(device_ids)) <= 20))
);

CREATE TABLE usage (
  app_id uuid NOT NULL,
  month date NOT NULL,
  used bigint NOT NULL,
  CONSTRAINT usage_pkey PRIMARY KEY (app_id, month),
  CONSTRAINT usage_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps(id),
  CONSTRAINT usage_month_check CHECK ((month = date_trunc('month'::text, (month)::timestamp with time zone))),
  CONSTRAINT usage_used_check CHECK ((used >= 0))
);

CREATE TABLE user_numbers (
  app_id uuid NOT NULL,
  next_number bigint NOT NULL,
  CONSTRAINT user_numbers_pkey PRIMARY KEY (app_id),
  CONSTRAINT user_numbers_next_number_check CHECK ((next_number > 0))
);

CREATE TABLE users (
  app_id uuid NOT NULL,
  external_id text COLLATE "C" NOT NULL,
  id uuid NOT NULL,
  first_name text COLLATE "C",
  country text COLLATE "C",
  language text COLLATE "C",
  timezone text COLLATE "C",
  properties jsonb NOT NULL DEFAULT '{}'::jsonb,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  updated_at timestamp with time zone NOT NULL DEFAULT now(),
  number bigint,
  CONSTRAINT users_pkey PRIMARY KEY (app_id, external_id),
  CONSTRAINT users_number_check CHECK ((number > 0))
);
CREATE INDEX users_external_id_lower ON public.users USING btree (app_id, lower(external_id));
CREATE INDEX users_first_name_lower ON public.users USING btree (app_id, lower(first_name)) WHERE (first_name IS NOT NULL);

CREATE TABLE webhook_attempts (
  app_id uuid NOT NULL,
  webhook_id uuid NOT NULL,
  id uuid NOT NULL,
  at timestamp with time zone NOT NULL,
  kind smallint NOT NULL,
  event_id uuid NOT NULL,
  message_id uuid NOT NULL,
  device_id uuid NOT NULL,
  attempt smallint NOT NULL,
  status_code smallint,
  error text COLLATE "C",
  duration_ms integer NOT NULL,
  number bigint NOT NULL DEFAULT 0,
  CONSTRAINT webhook_attempts_pkey PRIMARY KEY (app_id, webhook_id, id),
  CONSTRAINT webhook_attempts_error_check CHECK ((error = ANY (ARRAY['timeout'::text, 'dns_error'::text, 'connect_error'::text, 'tls_error'::text, 'reset'::text, 'blocked_address'::text, 'http_status'::text, 'redirect'::text])))
);

CREATE TABLE webhook_events (
  app_id uuid NOT NULL,
  webhook_id uuid NOT NULL,
  id uuid NOT NULL,
  kind smallint NOT NULL,
  message_id uuid NOT NULL,
  device_id uuid NOT NULL,
  channel smallint NOT NULL,
  attempts smallint NOT NULL DEFAULT 0,
  at timestamp with time zone NOT NULL,
  due_at timestamp with time zone NOT NULL,
  claim_id uuid,
  error_code text COLLATE "C",
  details json,
  is_replay boolean NOT NULL DEFAULT false,
  CONSTRAINT webhook_events_pkey PRIMARY KEY (app_id, webhook_id, id),
  CONSTRAINT webhook_events_channel_check CHECK (((channel >= 0) AND (channel <= 2))),
  CONSTRAINT webhook_events_kind_check CHECK (((kind >= 0) AND (kind <= 2)))
);
CREATE INDEX webhook_events_claimed ON public.webhook_events USING btree (app_id, webhook_id) WHERE (claim_id IS NOT NULL);
CREATE INDEX webhook_events_fresh ON public.webhook_events USING btree (app_id, webhook_id, due_at, id) WHERE (NOT is_replay);
CREATE INDEX webhook_events_replayed ON public.webhook_events USING btree (app_id, webhook_id, due_at, id) WHERE is_replay;

CREATE TABLE webhook_replays (
  app_id uuid NOT NULL,
  webhook_id uuid NOT NULL,
  from_at timestamp with time zone NOT NULL,
  to_at timestamp with time zone NOT NULL,
  kinds smallint[] NOT NULL,
  batch_id uuid,
  queued bigint NOT NULL DEFAULT 0,
  moved_at timestamp with time zone NOT NULL,
  CONSTRAINT webhook_replays_pkey PRIMARY KEY (app_id, webhook_id, from_at, to_at, kinds)
);

CREATE TABLE webhook_work (
  app_id uuid NOT NULL,
  webhook_id uuid NOT NULL,
  next_at timestamp with time zone NOT NULL,
  CONSTRAINT webhook_work_pkey PRIMARY KEY (app_id, webhook_id)
);
CREATE INDEX webhook_work_next ON public.webhook_work USING btree (next_at);

CREATE TABLE webhooks (
  app_id uuid NOT NULL,
  id uuid NOT NULL,
  endpoint text COLLATE "C" NOT NULL,
  events text[] COLLATE "C" NOT NULL DEFAULT '{}'::text[],
  state text COLLATE "C" NOT NULL DEFAULT 'enabled'::text,
  failures smallint NOT NULL DEFAULT 0,
  in_flight_max smallint NOT NULL DEFAULT 10,
  is_probing boolean NOT NULL DEFAULT false,
  paused_until timestamp with time zone,
  secret text COLLATE "C" NOT NULL,
  pending_secret text COLLATE "C",
  pending_since timestamp with time zone,
  finish_at timestamp with time zone,
  is_dual boolean NOT NULL DEFAULT false,
  last_test json,
  created_at timestamp with time zone NOT NULL,
  disabled_at timestamp with time zone,
  attempts_recorded bigint NOT NULL DEFAULT 0,
  updated_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT webhooks_pkey PRIMARY KEY (app_id, id),
  CONSTRAINT webhooks_check CHECK (((state = 'disabled'::text) = (disabled_at IS NOT NULL))),
  CONSTRAINT webhooks_check1 CHECK (((pending_secret IS NULL) = (pending_since IS NULL))),
  CONSTRAINT webhooks_check2 CHECK (((pending_secret IS NOT NULL) OR ((finish_at IS NULL) AND (NOT is_dual)))),
  CONSTRAINT webhooks_failures_check CHECK (((failures >= 0) AND (failures <= 15))),
  CONSTRAINT webhooks_in_flight_max_check CHECK (((in_flight_max >= 1) AND (in_flight_max <= 64))),
  CONSTRAINT webhooks_state_check CHECK ((state = ANY (ARRAY['enabled'::text, 'disabled'::text])))
);
