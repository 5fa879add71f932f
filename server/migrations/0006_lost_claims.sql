-- Pushes of a claim that ended without order are not known; whether there can have been any decides what they count as.
-- `claims` counts from now on the claims of a batch that ended so, and the present one: an orderly end takes only its own away.

ALTER TABLE batches
  -- A claim after the first reached its pushes.
  ADD COLUMN pushed boolean NOT NULL DEFAULT false;
