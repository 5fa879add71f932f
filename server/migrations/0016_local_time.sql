-- Messages in each device's local time: what is stored of it stands or falls together.

ALTER TABLE messages
  ADD CHECK ((local_send_at IS NULL) = (local_time_past IS NULL)),
  ADD CHECK (local_send_at IS NULL OR run_at IS NOT NULL);
