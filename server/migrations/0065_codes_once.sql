-- A code of an authenticator works once, and an invitation ends with the rights of the member who made it.

-- The last time step whose code was accepted (RFC 6238: 30 seconds each); only codes of later steps are.
ALTER TABLE second_factors ADD COLUMN last_step bigint NOT NULL DEFAULT 0;
-- The account of the member who made an invitation; null: the command line or a script made it.
ALTER TABLE account_links ADD COLUMN creator_id uuid;
