-- The devices of a batch are kept as they are: compressed, a thousand ids take 12 KB in place of 16, for as long as their batch is
-- open, and writing them takes ten times as long, which is a third of what it takes to accept a message to everybody. For what is
-- written from now on; nothing is rewritten.
ALTER TABLE batches ALTER COLUMN device_ids SET STORAGE EXTERNAL;
