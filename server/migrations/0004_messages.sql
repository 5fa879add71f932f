-- What is asked: messages, and the batches they are worked in.

CREATE TABLE messages (
  app_id uuid NOT NULL,
  id uuid NOT NULL,
  idempotency_key text COLLATE "C",
  fingerprint bytea NOT NULL,
  status text COLLATE "C" NOT NULL CHECK (status IN ('scheduled', 'sending', 'sent', 'failed', 'canceled')),
  status_reason text COLLATE "C"
    CHECK (status_reason IN ('quota_exceeded', 'segment_invalid', 'app_suspended', 'expired', 'internal_error')),
  name text COLLATE "C",
  metadata json,
  category text COLLATE "C",
  created_by json NOT NULL,
  -- As accepted, key for key.
  audience json NOT NULL,
  audience_unmatched integer NOT NULL DEFAULT 0,
  exclude_segment_id uuid,
  content json NOT NULL,
  title text COLLATE "C",
  run_at timestamptz,
  -- The send_at of a local_time message as it was written: its wall-clock time counts in every zone.
  local_send_at text COLLATE "C",
  local_time_past text COLLATE "C" CHECK (local_time_past IN ('refuse', 'now', 'skip')),
  per_second integer CHECK (per_second BETWEEN 1 AND 100000),
  created_at timestamptz NOT NULL,
  started_at timestamptz,
  finished_at timestamptz,
  expires_at timestamptz,
  -- The month that was charged, for refunds, and the units: the deliveries, or one where the plan counts messages.
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
  -- Final failures and skips by code.
  error_counts jsonb NOT NULL DEFAULT '{}',
  PRIMARY KEY (app_id, id),
  CHECK ((status IN ('sent', 'failed', 'canceled')) = (finished_at IS NOT NULL)),
  CHECK ((status = 'scheduled') <= (run_at IS NOT NULL AND started_at IS NULL)),
  CHECK ((status IN ('sending', 'sent')) <= (started_at IS NOT NULL)),
  CHECK (webpush_sent + webpush_failed + webpush_skipped <= webpush_accepted),
  CHECK (apns_sent + apns_failed + apns_skipped <= apns_accepted),
  CHECK (fcm_sent + fcm_failed + fcm_skipped <= fcm_accepted),
  -- A message ends `sent` only when every delivery is final.
  CHECK (status <> 'sent' OR webpush_accepted + apns_accepted + fcm_accepted =
    webpush_sent + webpush_failed + webpush_skipped + apns_sent + apns_failed + apns_skipped + fcm_sent + fcm_failed + fcm_skipped)
);
-- The idempotency key lives on the message: a concurrent duplicate waits here for the first, then replays.
CREATE UNIQUE INDEX messages_idempotency ON messages (app_id, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX messages_created ON messages (app_id, created_at, id);
CREATE INDEX messages_name ON messages (app_id, name) WHERE name IS NOT NULL;
CREATE INDEX messages_due ON messages (run_at) WHERE status = 'scheduled';

-- Up to 1,000 deliveries worked together under one lease:
--
--   waiting ──claim──► claimed ──all final──► done
--      ▲                  │
--      └── handed back, ──┘   (or the lease runs out: then another claims it)
--          or a retry later
CREATE TABLE batches (
  id uuid PRIMARY KEY,
  app_id uuid NOT NULL,
  message_id uuid NOT NULL,
  -- Emptied when done: then the delivery rows say it all.
  device_ids uuid[] NOT NULL,
  size integer NOT NULL,
  state text COLLATE "C" NOT NULL CHECK (state IN ('waiting', 'claimed', 'done')),
  queued_at timestamptz NOT NULL,
  due_at timestamptz NOT NULL,
  -- The end of the send window of the channel with the largest ttl.
  expires_at timestamptz NOT NULL,
  -- Waiting: not before. Claimed: the end of the lease, after which anyone may take it.
  available_at timestamptz NOT NULL,
  claim_id uuid,
  claims smallint NOT NULL DEFAULT 0,
  sent integer NOT NULL DEFAULT 0,
  failed integer NOT NULL DEFAULT 0,
  skipped integer NOT NULL DEFAULT 0,
  displayed integer NOT NULL DEFAULT 0,
  clicked integer NOT NULL DEFAULT 0,
  dismissed integer NOT NULL DEFAULT 0,
  finished_at timestamptz,
  CHECK ((state = 'claimed') = (claim_id IS NOT NULL)),
  CHECK ((state = 'done') = (finished_at IS NOT NULL)),
  CHECK (sent + failed + skipped <= size),
  CHECK (state <> 'done' OR sent + failed + skipped = size)
);
CREATE INDEX batches_open ON batches (app_id, available_at, id) WHERE state <> 'done';
-- What the heartbeat renews.
CREATE INDEX batches_claimed ON batches (claim_id) WHERE state = 'claimed';
CREATE INDEX batches_by_message ON batches (message_id, id);
