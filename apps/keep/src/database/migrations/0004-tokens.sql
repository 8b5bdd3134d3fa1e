-- Tokens by their hashes alone, and how every node learns that one no longer holds.

CREATE TABLE api_token (
  account_id uuid NOT NULL REFERENCES account,
  id uuid NOT NULL,
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 255),
  -- Of the newest value; the older ones of a rotated token are routes alone.
  token_hash bytea NOT NULL CHECK (length(token_hash) = 32),
  scopes text[] NOT NULL CHECK (cardinality(scopes) >= 1),
  -- Null limits nothing.
  vault_ids uuid[],
  paths text[],
  addresses text[],
  expires_at timestamptz,
  parent_id uuid,
  created_at timestamptz NOT NULL DEFAULT now(),
  created_by text NOT NULL CHECK (length(created_by) <= 64),
  rotated_at timestamptz,
  last_used_at timestamptz,
  last_used_address text CHECK (length(last_used_address) <= 64),
  revoked_at timestamptz,
  revoke_reason text CHECK (revoke_reason IN ('asked', 'leaked', 'account-deleted', 'parent-revoked')),
  PRIMARY KEY (account_id, id),
  CHECK ((revoked_at IS NULL) = (revoke_reason IS NULL))
);
CREATE INDEX api_token_parent ON api_token (account_id, parent_id) WHERE parent_id IS NOT NULL;

CREATE TABLE token_route (
  token_hash bytea PRIMARY KEY CHECK (length(token_hash) = 32),
  account_id uuid NOT NULL,
  token_id uuid NOT NULL,
  -- The end of a rotated value's grace; null for the newest.
  valid_until timestamptz
);
CREATE INDEX token_route_token ON token_route (account_id, token_id);

-- What nodes must forget. They read what is new several times a second, and at once when notified.
CREATE TABLE revocation (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind text NOT NULL CHECK (kind IN ('token', 'session', 'account', 'vault')),
  account_id uuid NOT NULL,
  subject_id uuid NOT NULL,
  at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX revocation_at ON revocation (at);

CREATE TABLE node (
  id uuid PRIMARY KEY,
  started_at timestamptz NOT NULL DEFAULT now(),
  heartbeat_at timestamptz NOT NULL DEFAULT now(),
  -- Everything revoked before this moment is forgotten on this node.
  forgotten_until timestamptz NOT NULL DEFAULT now()
);
