-- Conflicts of a property's type by day: a person sees whether a caller still sends the other type. Days in UTC as text, with
-- their counts; a key has the last thirty days that had a conflict within as many days.

ALTER TABLE properties ADD COLUMN conflict_days jsonb NOT NULL DEFAULT '{}'::jsonb;
