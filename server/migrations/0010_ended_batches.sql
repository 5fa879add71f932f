-- Batches that are ended rather than sent: what of them is still open ends as skipped with this reason, without a push.

ALTER TABLE batches ADD COLUMN skip_reason text COLLATE "C" CHECK (skip_reason IN ('canceled', 'local_time_past'));
