-- Scheduled messages: when each is started or tried next, and what their states may hold.

ALTER TABLE messages
  -- Scheduled: not before. The run, or the next try after one that failed.
  ADD COLUMN next_start_at timestamptz,
  -- Tries that were begun alone, after the first among others had not come to an end; too many, and the message fails.
  ADD COLUMN starts smallint NOT NULL DEFAULT 0;
UPDATE messages SET next_start_at = run_at WHERE status = 'scheduled';

ALTER TABLE messages
  ADD CHECK ((status = 'scheduled') = (next_start_at IS NOT NULL)),
  -- What never started was scheduled once, and has neither deliveries nor a charge nor a window.
  ADD CHECK (started_at IS NOT NULL OR run_at IS NOT NULL),
  ADD CHECK (started_at IS NOT NULL OR webpush_accepted + apns_accepted + fcm_accepted = 0
    AND first_batch_id IS NULL AND charged_month IS NULL AND charged_units = 0),
  ADD CHECK ((started_at IS NULL) = (expires_at IS NULL)),
  -- Why a message did not run, or was ended. One that failed before it ran always says why.
  ADD CHECK (status_reason IS NULL OR status IN ('failed', 'canceled')),
  ADD CHECK (status_reason IS NULL OR status <> 'canceled' OR status_reason = 'app_suspended'),
  ADD CHECK (status <> 'failed' OR started_at IS NOT NULL OR status_reason IS NOT NULL),
  ADD CHECK (started_at IS NULL OR status_reason IS NULL OR status_reason IN ('app_suspended', 'internal_error'));

-- The next one due, and the next one due of each app: they take turns.
DROP INDEX messages_due;
CREATE INDEX messages_due ON messages (next_start_at) WHERE status = 'scheduled';
CREATE INDEX messages_due_by_app ON messages (app_id, next_start_at, id) WHERE status = 'scheduled';
