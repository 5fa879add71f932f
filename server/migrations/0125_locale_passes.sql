-- When devices' locales are to be brought to canonical form, which earlier versions did not store.
-- Processes of the version before write the former form until the last of them is replaced, and no
-- row tells when that is: so there is a pass at once, one a day later and one a week later. Each row
-- is deleted when its pass is done.
CREATE TABLE locale_passes (
  due_at timestamptz PRIMARY KEY
);
INSERT INTO locale_passes (due_at)
VALUES (now()), (now() + interval '1 day'), (now() + interval '7 days');
