-- Users have numbers, an app's from 1 on without great gaps, so that distinct users are counted by setting bits and not by sorting
-- ids: two users of an app never share a number, and all devices of one user carry the same. A user has none until a worker has
-- given one, and is then counted by id.

-- The next number of each app that has given one.
CREATE TABLE user_numbers (
  app_id uuid PRIMARY KEY,
  next_number bigint NOT NULL CHECK (next_number > 0)
);

ALTER TABLE users ADD COLUMN number bigint CHECK (number > 0);

-- The user's number as it is counted: 32 numbers share a block, and each is one bit of it.
ALTER TABLE audience
  ADD COLUMN user_block integer,
  ADD COLUMN user_bit integer,
  -- Of rows from before nothing has to be looked at: they have neither.
  ADD CONSTRAINT audience_user_number CHECK (
    num_nulls(user_block, user_bit) IN (0, 2) AND (user_id IS NOT NULL OR user_block IS NULL)
  ) NOT VALID;
