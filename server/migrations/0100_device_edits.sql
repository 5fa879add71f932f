-- When a person last edited a device. With the time of its registration it says whether a device is
-- still as the writer of an edit saw it.
ALTER TABLE devices ADD COLUMN edited_at timestamptz;
