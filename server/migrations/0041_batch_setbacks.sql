-- What a batch remembers of claims that ended before their time: a slow database is no reason to give a batch up (R-96), and the
-- same fault of our own five times is (R-18). Tables of the release before get the defaults, which say that nothing happened.
ALTER TABLE batches
  -- Hand-backs in a row for want of an answer or because of a fault: the next wait is longer.
  ADD COLUMN setbacks smallint NOT NULL DEFAULT 0,
  -- The last fault of our own, as a fingerprint, and how often it came in a row.
  ADD COLUMN fault text COLLATE "C",
  ADD COLUMN faults smallint NOT NULL DEFAULT 0,
  ADD CONSTRAINT batches_fault_check CHECK ((fault IS NOT NULL) = (faults > 0)) NOT VALID;
