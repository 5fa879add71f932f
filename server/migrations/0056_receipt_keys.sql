-- Keys of receipt tokens can be replaced: when each was made says which one signs, and how long a former one is needed.

ALTER TABLE instance
  -- Of receipt_keys, newest first. The key that was made with the row has no time here.
  ADD COLUMN receipt_keys_made_at timestamptz[] NOT NULL DEFAULT '{}',
  -- How many were forgotten: a key is sealed for its number, counted from the first that ever was.
  ADD COLUMN receipt_keys_forgotten integer NOT NULL DEFAULT 0 CHECK (receipt_keys_forgotten >= 0);
