-- The last step of a clock that a process noticed (R-100), which `doctor` tells: which clock, by how
-- many milliseconds, and when, by the database's clock after the step. Null: none yet.
ALTER TABLE instance
  ADD COLUMN stepped_clock text COLLATE "C" CHECK (stepped_clock IN ('host', 'database', 'both')),
  ADD COLUMN stepped_by_ms bigint,
  ADD COLUMN stepped_at timestamptz;
