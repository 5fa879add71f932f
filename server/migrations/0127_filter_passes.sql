-- When stored filters are to be brought to canonical form, which earlier versions did not store. The
-- passes of locales do it at their end, so there are three more of them, for the reason that their
-- table was created with.
INSERT INTO locale_passes (due_at)
VALUES (now()), (now() + interval '1 day'), (now() + interval '7 days')
ON CONFLICT DO NOTHING;
