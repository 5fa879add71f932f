-- One message to one device, written with its first outcome. Reached through its batch, so it repeats neither app nor message.
-- Weekly partitions of `batch_id`, a UUIDv7 minted when the message runs; the service makes them four weeks ahead.
--
-- channel 0 webpush, 1 apns, 2 fcm · status 0 retrying, 1 sent, 2 failed, 3 skipped
-- error_code 1..12 in the order of contract 7.6, skip reasons from 101.

CREATE TABLE deliveries (
  batch_id uuid NOT NULL,
  device_id uuid NOT NULL,
  user_id uuid,
  done_at timestamptz NOT NULL,
  displayed_at timestamptz,
  clicked_at timestamptz,
  dismissed_at timestamptz,
  latency_ms integer,
  credential_id smallint,
  channel smallint NOT NULL CHECK (channel BETWEEN 0 AND 2),
  status smallint NOT NULL CHECK (status BETWEEN 0 AND 3),
  error_code smallint,
  attempts smallint NOT NULL,
  provider_status smallint,
  form smallint,
  variant smallint,
  provider_ref text COLLATE "C",
  action text COLLATE "C",
  urls json,
  timeline json,
  PRIMARY KEY (batch_id, device_id),
  CHECK ((status = 1) = (error_code IS NULL)),
  CHECK (status <> 3 OR error_code > 100),
  CHECK (status NOT IN (0, 2) OR error_code <= 12)
) PARTITION BY RANGE (batch_id);
CREATE INDEX deliveries_by_person ON deliveries (coalesce(user_id, device_id), batch_id);

-- Receipts that came before their outcome was committed; applied by the flush that commits it.
CREATE TABLE early_receipts (
  batch_id uuid NOT NULL,
  device_id uuid NOT NULL,
  mark text COLLATE "C" NOT NULL CHECK (mark IN ('displayed', 'clicked', 'dismissed')),
  at timestamptz NOT NULL,
  action text COLLATE "C",
  PRIMARY KEY (batch_id, device_id, mark)
);
