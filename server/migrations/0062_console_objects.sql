-- What the console edits and makes: webhooks know their last edit, and a key of a session ends with it.

ALTER TABLE webhooks ADD COLUMN updated_at timestamptz NOT NULL DEFAULT now();
-- The console's session for whose own browser this client key is; null: a key of an app.
ALTER TABLE keys ADD COLUMN session_id uuid;
-- When the rows of a deleted app were cleared; its own row stays, so that the audit log keeps that it was.
ALTER TABLE apps ADD COLUMN cleared_at timestamptz CHECK (cleared_at IS NULL OR deleted_at IS NOT NULL);
