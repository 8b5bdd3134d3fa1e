-- Workload identity: a program exchanges the token that its platform signed for a short-lived one of Keep. A rule decides
-- which tokens are accepted and what the new one may do, so it carries a MAC with the epoch of its account.

CREATE TABLE trust_rule (
  id uuid NOT NULL,
  account_id uuid NOT NULL REFERENCES account,
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 255),
  provider text NOT NULL CHECK (provider IN ('github', 'gitlab', 'kubernetes', 'generic')),
  issuer text NOT NULL CHECK (length(issuer) BETWEEN 9 AND 512),
  -- A list of claims, each with the values that it may have.
  conditions jsonb NOT NULL CHECK (jsonb_typeof(conditions) = 'array'),
  -- Uploaded keys; null if they come from the issuer.
  jwks text CHECK (length(jwks) <= 65536),
  scopes text[] NOT NULL CHECK (cardinality(scopes) >= 1),
  -- Null limits nothing.
  vault_ids uuid[],
  paths text[],
  lifetime_seconds integer NOT NULL CHECK (lifetime_seconds BETWEEN 60 AND 3600),
  created_at timestamptz NOT NULL DEFAULT now(),
  created_by text NOT NULL CHECK (length(created_by) <= 64),
  changed_at timestamptz,
  mac bytea,
  PRIMARY KEY (id, account_id)
);
CREATE INDEX trust_rule_account ON trust_rule (account_id, id);

-- Subject tokens that were exchanged, until they expire: each counts once.
CREATE TABLE used_subject_token (
  token_hash bytea NOT NULL CHECK (length(token_hash) = 32),
  account_id uuid NOT NULL REFERENCES account,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (token_hash, account_id)
);
CREATE INDEX used_subject_token_account ON used_subject_token (account_id, expires_at);

-- The last tokens that were presented, with the claims that rules can name and never the token itself.
CREATE TABLE exchange_attempt (
  id uuid NOT NULL,
  account_id uuid NOT NULL REFERENCES account,
  at timestamptz NOT NULL DEFAULT now(),
  issuer text NOT NULL CHECK (length(issuer) <= 512),
  subject text NOT NULL CHECK (length(subject) <= 512),
  is_verified boolean NOT NULL,
  -- Null if the token was exchanged.
  reason text CHECK (length(reason) <= 64),
  rule_id uuid,
  token_id uuid,
  claims jsonb NOT NULL,
  PRIMARY KEY (id, account_id)
);
CREATE INDEX exchange_attempt_account ON exchange_attempt (account_id, is_verified, id);

DO $$
DECLARE
  own text;
BEGIN
  FOREACH own IN ARRAY ARRAY['trust_rule', 'used_subject_token', 'exchange_attempt'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', own);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', own);
    EXECUTE format('CREATE POLICY own_account ON %I USING '
      '(account_id = (nullif(current_setting(''keep.account_id'', true), ''''))::uuid)', own);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO keep_application', own);
  END LOOP;
END $$;

-- Expired rows are found across accounts.
CREATE POLICY housekeeping ON used_subject_token FOR SELECT TO keep_maintenance USING (true);
GRANT SELECT (account_id, expires_at) ON used_subject_token TO keep_maintenance;
