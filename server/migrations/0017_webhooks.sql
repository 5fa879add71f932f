-- We tell the customer: webhooks, the outbox that is written with every outcome, and the last attempts of each.

--   enabled ──the 15th failure in a row, or by hand──► disabled ──by hand: no failures, one probe──► enabled
CREATE TABLE webhooks (
  app_id uuid NOT NULL,
  id uuid NOT NULL,
  endpoint text COLLATE "C" NOT NULL,
  -- Empty: all kinds.
  events text[] COLLATE "C" NOT NULL DEFAULT '{}',
  state text COLLATE "C" NOT NULL DEFAULT 'enabled' CHECK (state IN ('enabled', 'disabled')),
  -- In a row; any 2xx sets them to 0.
  failures smallint NOT NULL DEFAULT 0 CHECK (failures BETWEEN 0 AND 15),
  -- Requests under way at once, over all processes.
  in_flight_max smallint NOT NULL DEFAULT 10 CHECK (in_flight_max BETWEEN 1 AND 64),
  -- Re-enabled, and not yet answered with a 2xx.
  is_probing boolean NOT NULL DEFAULT false,
  paused_until timestamptz,
  secret text COLLATE "C" NOT NULL,
  pending_secret text COLLATE "C",
  pending_since timestamptz,
  finish_at timestamptz,
  is_dual boolean NOT NULL DEFAULT false,
  last_test json,
  created_at timestamptz NOT NULL,
  disabled_at timestamptz,
  PRIMARY KEY (app_id, id),
  CHECK ((state = 'disabled') = (disabled_at IS NOT NULL)),
  CHECK ((pending_secret IS NULL) = (pending_since IS NULL)),
  CHECK (pending_secret IS NOT NULL OR (finish_at IS NULL AND NOT is_dual))
);

-- The outbox: one row per event and subscribed webhook, gone with its acknowledgement.
-- kind 0 message.sent, 1 message.failed, 2 message.clicked · channel and error_code as in deliveries
CREATE TABLE webhook_events (
  app_id uuid NOT NULL,
  webhook_id uuid NOT NULL,
  id uuid NOT NULL,
  kind smallint NOT NULL CHECK (kind BETWEEN 0 AND 2),
  message_id uuid NOT NULL,
  device_id uuid NOT NULL,
  channel smallint NOT NULL CHECK (channel BETWEEN 0 AND 2),
  attempts smallint NOT NULL DEFAULT 0,
  -- When it happened.
  at timestamptz NOT NULL,
  -- When to try next; of one that is being tried, when whoever tries it must have died.
  due_at timestamptz NOT NULL,
  claim_id uuid,
  error_code text COLLATE "C",
  -- What `data` says beyond the four fields of every event.
  details json,
  PRIMARY KEY (app_id, webhook_id, id)
);
CREATE INDEX webhook_events_due ON webhook_events (app_id, webhook_id, due_at, id);
CREATE INDEX webhook_events_claimed ON webhook_events (app_id, webhook_id) WHERE claim_id IS NOT NULL;

-- The last 50 of each webhook, in order of completion.
CREATE TABLE webhook_attempts (
  app_id uuid NOT NULL,
  webhook_id uuid NOT NULL,
  id uuid NOT NULL,
  at timestamptz NOT NULL,
  kind smallint NOT NULL,
  event_id uuid NOT NULL,
  message_id uuid NOT NULL,
  device_id uuid NOT NULL,
  attempt smallint NOT NULL,
  status_code smallint,
  error text COLLATE "C" CHECK (error IN
    ('timeout', 'dns_error', 'connect_error', 'tls_error', 'reset', 'blocked_address', 'http_status', 'redirect')),
  duration_ms integer NOT NULL,
  PRIMARY KEY (app_id, webhook_id, id)
);
