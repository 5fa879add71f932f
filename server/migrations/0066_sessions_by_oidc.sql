-- A session that OpenID Connect began: its second factor is the provider's matter.
ALTER TABLE account_sessions ADD COLUMN is_by_oidc boolean NOT NULL DEFAULT false;
