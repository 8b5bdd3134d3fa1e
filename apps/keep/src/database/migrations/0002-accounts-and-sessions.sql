-- Accounts, who may enter them, and who is in. Every table of an account has its id first in its key, so that accounts
-- can be spread over several servers; what must be unique among all accounts is in small route tables beside them.

CREATE TABLE account (
  account_id uuid PRIMARY KEY,
  display_name text NOT NULL CHECK (length(display_name) BETWEEN 1 AND 200),
  status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'disabled', 'deleted')),
  created_at timestamptz NOT NULL DEFAULT now(),
  deleted_at timestamptz
);

-- A person at a provider. The e-mail is shown to its owner, and never decides anything.
CREATE TABLE identity (
  account_id uuid NOT NULL REFERENCES account,
  id uuid NOT NULL,
  provider text NOT NULL CHECK (provider IN ('code-hosting', 'general')),
  issuer text NOT NULL CHECK (length(issuer) <= 512),
  subject text NOT NULL CHECK (length(subject) BETWEEN 1 AND 255),
  login text CHECK (length(login) <= 255),
  email text CHECK (length(email) <= 320),
  created_at timestamptz NOT NULL DEFAULT now(),
  last_sign_in_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, id)
);

CREATE TABLE identity_route (
  issuer text NOT NULL,
  subject text NOT NULL,
  account_id uuid NOT NULL,
  identity_id uuid NOT NULL,
  PRIMARY KEY (issuer, subject)
);

CREATE TABLE session (
  account_id uuid NOT NULL REFERENCES account,
  id uuid NOT NULL,
  session_hash bytea NOT NULL CHECK (length(session_hash) = 32),
  identity_id uuid NOT NULL,
  authenticated_at timestamptz NOT NULL DEFAULT now(),
  created_at timestamptz NOT NULL DEFAULT now(),
  last_seen_at timestamptz NOT NULL DEFAULT now(),
  idle_until timestamptz NOT NULL,
  absolute_until timestamptz NOT NULL,
  address text NOT NULL CHECK (length(address) <= 64),
  user_agent text CHECK (length(user_agent) <= 512),
  ended_at timestamptz,
  PRIMARY KEY (account_id, id)
);

CREATE TABLE session_route (
  session_hash bytea PRIMARY KEY CHECK (length(session_hash) = 32),
  account_id uuid NOT NULL,
  session_id uuid NOT NULL
);

-- A sign-in that was begun: what must come back, and from which browser. Used up by one UPDATE.
CREATE TABLE sign_in_attempt (
  state_hash bytea PRIMARY KEY CHECK (length(state_hash) = 32),
  binder_hash bytea NOT NULL CHECK (length(binder_hash) = 32),
  provider text NOT NULL CHECK (provider IN ('code-hosting', 'general')),
  purpose text NOT NULL CHECK (purpose IN ('sign-in', 'link', 'confirm')),
  account_id uuid,
  session_id uuid,
  -- The PKCE verifier and the nonce.
  sealed bytea NOT NULL,
  return_to text NOT NULL CHECK (length(return_to) <= 1024),
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  used_at timestamptz,
  CHECK ((purpose = 'sign-in') = (account_id IS NULL))
);
CREATE INDEX sign_in_attempt_expiry ON sign_in_attempt (expires_at);

-- Keys of the server itself, wrapped by the key-encryption key: one that seals what belongs to no vault, one that
-- signs checkpoints of the audit log.
CREATE TABLE server_key (
  purpose text NOT NULL CHECK (purpose IN ('sealing', 'signing')),
  version integer NOT NULL CHECK (version >= 1),
  kek_fingerprint text NOT NULL REFERENCES key_encryption_key,
  wrapped bytea NOT NULL,
  public_key bytea,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (purpose, version)
);
