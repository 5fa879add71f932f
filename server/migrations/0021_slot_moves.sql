-- Slots follow use: a key moves between a slot and the overflow while everybody reads and writes on.
ALTER TABLE properties
  -- The slot that the key is brought into or taken out of; `slot` says where filters read.
  ADD COLUMN move_slot smallint CHECK (move_slot BETWEEN 1 AND 30),
  -- filling: both places are written, and the new one is filled. switched: the new one is read, both are written. clearing: only
  -- the new one is written, and the old one is emptied.
  ADD COLUMN move_phase text COLLATE "C" CHECK (move_phase IN ('filling', 'switched', 'clearing')),
  -- Since when, and from which transaction on: a phase goes on once nobody is left who knows the one before.
  ADD COLUMN moved_at timestamptz,
  ADD COLUMN moved_by xid8,
  ADD CONSTRAINT properties_move CHECK (num_nulls(move_slot, move_phase, moved_at, moved_by) IN (0, 4)),
  ADD CONSTRAINT properties_move_bool CHECK (type <> 'boolean' OR move_slot <= 10),
  ADD CONSTRAINT properties_move_one CHECK (slot = move_slot);
CREATE UNIQUE INDEX properties_move_slot ON properties (app_id, type, move_slot) WHERE move_slot IS NOT NULL;

-- Who last sent X-Forwarded-For without being a proxy that is trusted: the doctor says so.
ALTER TABLE instance
  ADD COLUMN ignored_forwarder text COLLATE "C",
  ADD COLUMN ignored_forwarder_at timestamptz,
  ADD CONSTRAINT instance_forwarder CHECK ((ignored_forwarder IS NULL) = (ignored_forwarder_at IS NULL));
