-- Clearing what names erased users takes longer than a process may live: a turn belongs to one process at a time, and whoever takes it
-- up goes on where the last one ended.

ALTER TABLE erasures
  -- Together with which others this one is cleared, under a new id for each process that takes the turn; null: not begun.
  ADD COLUMN turn_id uuid,
  -- On the oldest of a turn: until when nobody else takes it.
  ADD COLUMN turn_until timestamptz,
  -- On the oldest of a turn: the last event name and day that is cleared.
  ADD COLUMN done_name text COLLATE "C",
  ADD COLUMN done_day date,
  ADD CHECK ((done_name IS NULL) = (done_day IS NULL));
