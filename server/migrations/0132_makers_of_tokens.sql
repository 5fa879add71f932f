-- The maker of an operator token, so that the tokens of an owner who has left are offered for revoking.

-- The account of the owner who made it; null: the command line made it.
ALTER TABLE operator_tokens ADD COLUMN creator_id uuid;
-- Until now a token named its maker by the address alone, which is one account.
UPDATE operator_tokens t SET creator_id = a.id FROM accounts a WHERE t.created_by = 'person ' || a.email;
