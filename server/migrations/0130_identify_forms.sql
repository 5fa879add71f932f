-- Each identify secret has one form: `token` proves by JSON Web Tokens, `hash` by hashes of external
-- ids. Every secret of before is a `hash`.

-- The version before writes neither column, and makes secrets of the form `hash` alone. A proof is
-- checked by the form that the opened secret names itself; these columns tell the form to readers
-- without the master key.
ALTER TABLE apps
  ADD COLUMN identify_form text COLLATE "C" NOT NULL DEFAULT 'hash' CHECK (identify_form IN ('token', 'hash')),
  ADD COLUMN identify_form_next text COLLATE "C" NOT NULL DEFAULT 'hash' CHECK (identify_form_next IN ('token', 'hash'));

-- `identify_bound_required` keeps its name for the version before. True: only a token that names the
-- device is accepted. An app that required the former bound form accepts no proof until it has a
-- token secret.
