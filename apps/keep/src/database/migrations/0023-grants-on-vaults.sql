-- Who may do what in the vaults of an organisation. All grants of a vault are one text with one MAC of the organisation's epoch,
-- so that none can be left out, and a change of members does not sign every grant again.

CREATE TABLE vault_access (
  vault_id uuid NOT NULL,
  account_id uuid NOT NULL REFERENCES account,
  -- JSON.
  grants text NOT NULL CHECK (length(grants) <= 4194304),
  mac bytea,
  PRIMARY KEY (vault_id, account_id)
);
CREATE INDEX vault_access_account ON vault_access (account_id, vault_id);

-- Which organisation a vault belongs to. It needs no MAC: the rows of the member and of the grants that it leads to have one.
CREATE TABLE vault_route (
  vault_id uuid PRIMARY KEY,
  account_id uuid NOT NULL
);
CREATE INDEX vault_route_account ON vault_route (account_id);
INSERT INTO vault_route (vault_id, account_id)
  SELECT vault.id, account_id FROM vault JOIN account USING (account_id) WHERE account.kind = 'organisation'
  ON CONFLICT DO NOTHING;

-- Who is in a team is part of the member's row, which has a MAC.
CREATE TABLE team (
  id uuid NOT NULL,
  account_id uuid NOT NULL REFERENCES account,
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (id, account_id)
);
CREATE INDEX team_account ON team (account_id, id);

ALTER TABLE member ADD COLUMN team_ids uuid[] NOT NULL DEFAULT '{}' CHECK (cardinality(team_ids) <= 100);

-- The account of the member to whom a token of an organisation belongs; null for the organisation's own tokens.
ALTER TABLE api_token
  ADD COLUMN owner_id uuid,
  DROP CONSTRAINT api_token_revoke_reason_check,
  ADD CONSTRAINT api_token_revoke_reason_check
    CHECK (revoke_reason IN ('asked', 'leaked', 'account-deleted', 'parent-revoked', 'member-removed'));
CREATE INDEX api_token_owner ON api_token (account_id, owner_id) WHERE owner_id IS NOT NULL;
-- The columns of a view are those that its table had when the view was defined.
CREATE OR REPLACE VIEW live_token WITH (security_invoker = true) AS
  SELECT * FROM api_token WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now());

ALTER TABLE revocation
  DROP CONSTRAINT revocation_kind_check,
  ADD CONSTRAINT revocation_kind_check CHECK (kind IN ('token', 'session', 'account', 'vault', 'access'));

DO $$
DECLARE
  own text;
BEGIN
  FOREACH own IN ARRAY ARRAY['vault_access', 'team'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', own);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', own);
    EXECUTE format('CREATE POLICY own_account ON %I USING '
      '(account_id = (nullif(current_setting(''keep.account_id'', true), ''''))::uuid)', own);
  END LOOP;
END $$;
GRANT SELECT, INSERT, UPDATE, DELETE ON vault_access, vault_route, team TO keep_application;
