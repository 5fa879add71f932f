-- The attempts of a webhook have numbers, given out while its row is held: their order within one millisecond is the order in which
-- they were counted, whichever process made them. Rows from before have the number 0, and ids in their order.

ALTER TABLE webhooks ADD COLUMN attempts_recorded bigint NOT NULL DEFAULT 0;
ALTER TABLE webhook_attempts ADD COLUMN number bigint NOT NULL DEFAULT 0;
