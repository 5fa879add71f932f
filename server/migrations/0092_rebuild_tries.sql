-- How often a rebuild of reports was begun. A rebuild that ends its process each time is given up, so
-- that the rebuilds of other apps get their turn.
ALTER TABLE report_rebuilds ADD COLUMN tries smallint NOT NULL DEFAULT 0 CHECK (tries >= 0);
