-- Paths of a vault whose changes need the approval of a second person, and the changes that wait for one. The vault's head
-- covers the patterns, and how many changes were decided: a row carries a MAC with that number, so that a decided change does
-- not wait again when its row is put back.

ALTER TABLE vault
  ADD COLUMN protected_paths text[] NOT NULL DEFAULT '{}' CHECK (cardinality(protected_paths) <= 32),
  ADD COLUMN decided_changes integer NOT NULL DEFAULT 0;

-- The columns of a view are those that its table had when the view was defined.
CREATE OR REPLACE VIEW live_vault WITH (security_invoker = true) AS SELECT * FROM vault WHERE deleted_at IS NULL;

-- Who else has had a value of a token, or decided which tokens a rule accepts: nobody approves what they could have proposed.
ALTER TABLE api_token
  ADD COLUMN rotated_by text[] NOT NULL DEFAULT '{}' CHECK (cardinality(rotated_by) <= 64);
ALTER TABLE trust_rule
  ADD COLUMN changed_by text[] NOT NULL DEFAULT '{}' CHECK (cardinality(changed_by) <= 64);

CREATE TABLE proposed_change (
  account_id uuid NOT NULL,
  vault_id uuid NOT NULL,
  id uuid NOT NULL,
  state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'approved', 'rejected', 'withdrawn', 'expired')),
  proposer_kind text NOT NULL CHECK (proposer_kind IN ('session', 'token')),
  proposer_id uuid NOT NULL,
  -- The account of the person who proposed it; null for a token without an owner.
  person_id uuid,
  -- People who cannot approve it: the one who proposed it, and whoever created or rotated the token that did.
  barred_people uuid[] NOT NULL CHECK (cardinality(barred_people) BETWEEN 1 AND 256),
  -- Paths that it names, by which it is listed.
  paths text[] NOT NULL CHECK (cardinality(paths) <= 400),
  -- Whether it changes the vault itself.
  is_vault_wide boolean NOT NULL,
  reason text NOT NULL CHECK (length(reason) BETWEEN 1 AND 500),
  operation_count integer NOT NULL CHECK (operation_count BETWEEN 0 AND 200),
  fingerprint bytea NOT NULL CHECK (length(fingerprint) = 32),
  -- What it does, encrypted with the vault's data key; null once it is decided.
  key_version integer,
  sealed bytea CHECK (octet_length(sealed) <= 4194304),
  proposed_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  decided_at timestamptz,
  decided_by text CHECK (length(decided_by) <= 64),
  mac bytea NOT NULL,
  PRIMARY KEY (account_id, vault_id, id),
  FOREIGN KEY (account_id, vault_id) REFERENCES vault (account_id, id),
  FOREIGN KEY (account_id, vault_id, key_version) REFERENCES vault_key (account_id, vault_id, version),
  CHECK ((state = 'pending') = (sealed IS NOT NULL) AND (sealed IS NULL) = (key_version IS NULL)),
  CHECK ((state = 'pending') = (decided_at IS NULL) AND (decided_at IS NULL) = (decided_by IS NULL))
);
CREATE INDEX proposed_change_expiry ON proposed_change (expires_at) WHERE state = 'pending';
CREATE INDEX proposed_change_decided ON proposed_change (decided_at) WHERE decided_at IS NOT NULL;

ALTER TABLE proposed_change ENABLE ROW LEVEL SECURITY;
ALTER TABLE proposed_change FORCE ROW LEVEL SECURITY;
CREATE POLICY own_account ON proposed_change USING
  (account_id = (nullif(current_setting('keep.account_id', true), ''))::uuid);
CREATE POLICY housekeeping ON proposed_change FOR SELECT TO keep_maintenance USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON proposed_change TO keep_application;
GRANT SELECT (account_id, vault_id, state, expires_at, decided_at) ON proposed_change TO keep_maintenance;
