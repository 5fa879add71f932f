-- A batch says which kinds of final deliveries it holds, so that a page of a timeline that asks for a rare kind reads only the batches that hold it.

ALTER TABLE batches
  -- One bit for each channel and end: `delivery/delivery-kinds.ts`.
  ADD COLUMN kinds bigint NOT NULL DEFAULT 0,
  -- How many final deliveries the bits speak for. A process of the version before writes neither column, so the bits count only
  -- where this equals sent + failed + skipped.
  ADD COLUMN kinds_noted integer NOT NULL DEFAULT 0;
