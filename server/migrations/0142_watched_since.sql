-- Since when a worker has looked each second for what falls due. So long the database has been
-- there, and a new worker need not wait as if an outage had just ended.

ALTER TABLE lookouts ADD COLUMN watched_since timestamptz NOT NULL DEFAULT 'infinity';
