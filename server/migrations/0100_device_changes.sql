-- When what a person may edit of a device last changed: its environment, its properties, its locale
-- or its time zone. Null: not since its first registration. An edit is refused when this instant is
-- not the one that its writer saw.
ALTER TABLE devices ADD COLUMN changed_at timestamptz;
