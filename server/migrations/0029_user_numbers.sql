-- Users have numbers, an app's from 1 on without great gaps, so that distinct users are counted by setting bits and not by sorting
-- ids: two users of an app never share a number, and all devices of one user carry the same. Who has none yet is counted by id.

-- The next number of each app that has given one.
CREATE TABLE user_numbers (
  app_id uuid PRIMARY KEY,
  next_number bigint NOT NULL CHECK (next_number > 0)
);

ALTER TABLE users ADD COLUMN number bigint CHECK (number > 0);

-- The user's number as it is counted: 32 numbers share a block, and each is one bit of it.
ALTER TABLE audience
  ADD COLUMN user_block integer,
  -- 0: the user has no number yet, or, of a row from before, there may be no user; null: the device is nobody's. One value for those
  -- who are counted by id, so that the planner knows how few they are.
  ADD COLUMN user_bit integer DEFAULT 0,
  -- Of rows from before nothing has to be looked at.
  ADD CONSTRAINT audience_user_number CHECK (
    CASE WHEN user_id IS NULL THEN user_block IS NULL AND coalesce(user_bit, 0) = 0
      ELSE user_bit IS NOT NULL AND (user_block IS NULL) = (user_bit = 0) END
  ) NOT VALID;
