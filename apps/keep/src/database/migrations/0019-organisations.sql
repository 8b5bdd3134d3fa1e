-- An organisation is an account of another kind: what it has is keyed by its account_id, as a person's is. The kind is covered by
-- the MAC of the account's row. Rows of members and invitations carry MACs with the epoch of the organisation, as tokens do.

ALTER TABLE account ADD COLUMN kind text NOT NULL DEFAULT 'person' CHECK (kind IN ('person', 'organisation'));
GRANT SELECT (kind) ON account TO keep_maintenance;

CREATE TABLE member (
  -- The account of the person.
  person_id uuid NOT NULL,
  account_id uuid NOT NULL REFERENCES account,
  role text NOT NULL CHECK (role IN ('owner', 'member', 'auditor')),
  joined_at timestamptz NOT NULL DEFAULT now(),
  mac bytea,
  PRIMARY KEY (person_id, account_id)
);
CREATE INDEX member_account ON member (account_id, person_id);

-- Of which organisations a person may be a member. It needs no MAC: the row of the member that it leads to has one.
CREATE TABLE member_route (
  person_id uuid NOT NULL,
  account_id uuid NOT NULL,
  PRIMARY KEY (person_id, account_id)
);
CREATE INDEX member_route_account ON member_route (account_id);

-- An invitation is deleted when it is accepted or revoked.
CREATE TABLE invitation (
  id uuid NOT NULL,
  account_id uuid NOT NULL REFERENCES account,
  secret_hash bytea NOT NULL CHECK (length(secret_hash) = 32),
  role text NOT NULL CHECK (role IN ('owner', 'member', 'auditor')),
  -- The provider and the subject of the only person who can accept it, such as general:12345; null for anyone.
  identity text CHECK (length(identity) <= 300),
  -- The account of the person who invited.
  invited_by uuid NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  mac bytea,
  PRIMARY KEY (id, account_id)
);
CREATE UNIQUE INDEX invitation_secret ON invitation (secret_hash, account_id);
CREATE INDEX invitation_account ON invitation (account_id);

DO $$
DECLARE
  own text;
BEGIN
  FOREACH own IN ARRAY ARRAY['member', 'invitation'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', own);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', own);
    EXECUTE format('CREATE POLICY own_account ON %I USING '
      '(account_id = (nullif(current_setting(''keep.account_id'', true), ''''))::uuid)', own);
  END LOOP;
END $$;
GRANT SELECT, INSERT, UPDATE, DELETE ON member, member_route, invitation TO keep_application;
