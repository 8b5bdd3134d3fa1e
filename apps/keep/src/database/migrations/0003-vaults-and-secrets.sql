-- Vaults, their data keys, and secrets with their versions. Names, folders and tags are in clear, for search; values and
-- notes are sealed with the vault's data key, each bound to its place.

CREATE TABLE vault (
  account_id uuid NOT NULL REFERENCES account,
  id uuid NOT NULL,
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 255),
  kind text NOT NULL CHECK (kind IN ('personal', 'project')),
  -- Counts every change to the vault and what is in it.
  revision bigint NOT NULL DEFAULT 0,
  demands_preconditions boolean NOT NULL DEFAULT false,
  -- Versions that one secret may have; a write beyond them is refused, nothing is destroyed unasked.
  most_versions integer NOT NULL DEFAULT 100 CHECK (most_versions BETWEEN 1 AND 10000),
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  deleted_at timestamptz,
  purge_after timestamptz,
  PRIMARY KEY (account_id, id),
  CHECK ((deleted_at IS NULL) = (purge_after IS NULL))
);
-- Two first sign-ins at once cannot make two.
CREATE UNIQUE INDEX vault_personal ON vault (account_id) WHERE kind = 'personal';
CREATE INDEX vault_purge ON vault (purge_after) WHERE purge_after IS NOT NULL;

CREATE TABLE vault_key (
  account_id uuid NOT NULL,
  vault_id uuid NOT NULL,
  version integer NOT NULL CHECK (version >= 1),
  status text NOT NULL CHECK (status IN ('active', 'retired')),
  kek_fingerprint text NOT NULL REFERENCES key_encryption_key,
  wrapped bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, vault_id, version),
  FOREIGN KEY (account_id, vault_id) REFERENCES vault (account_id, id)
);
CREATE UNIQUE INDEX vault_key_active ON vault_key (account_id, vault_id) WHERE status = 'active';
CREATE INDEX vault_key_wrapped_by ON vault_key (kek_fingerprint);

-- Folders that were made or once held something; '/' is always there and has no row.
CREATE TABLE folder (
  account_id uuid NOT NULL,
  vault_id uuid NOT NULL,
  path text COLLATE "C" NOT NULL CHECK (path ~ '^(/[^/]+)+$' AND length(path) <= 2048),
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, vault_id, path),
  FOREIGN KEY (account_id, vault_id) REFERENCES vault (account_id, id)
);

CREATE TABLE secret (
  account_id uuid NOT NULL,
  vault_id uuid NOT NULL,
  id uuid NOT NULL,
  folder text COLLATE "C" NOT NULL CHECK (folder ~ '^(/|(/[^/]+)+)$' AND length(folder) <= 2048),
  name text COLLATE "C" NOT NULL CHECK (length(name) BETWEEN 1 AND 255 AND position('/' IN name) = 0),
  type text NOT NULL CHECK (type IN ('text', 'json', 'binary', 'file')),
  current_version integer NOT NULL CHECK (current_version >= 1),
  -- Of the vault, when this secret last changed. It is in the audit chain too, so that a row put back to what it once
  -- was does not go unnoticed.
  revision bigint NOT NULL,
  tags text[] NOT NULL DEFAULT '{}',
  note_sealed bytea,
  destroyed_versions integer[] NOT NULL DEFAULT '{}',
  -- The data key that seals the note and makes the mark.
  key_version integer NOT NULL,
  -- Authenticates every column that decides what is read: who changes one without the key is found out.
  mark bytea NOT NULL CHECK (length(mark) = 32),
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  updated_by text NOT NULL CHECK (length(updated_by) <= 64),
  deleted_at timestamptz,
  purge_after timestamptz,
  PRIMARY KEY (account_id, vault_id, id),
  FOREIGN KEY (account_id, vault_id, key_version) REFERENCES vault_key (account_id, vault_id, version),
  CHECK ((deleted_at IS NULL) = (purge_after IS NULL))
);
CREATE UNIQUE INDEX secret_path ON secret (account_id, vault_id, folder, name) WHERE deleted_at IS NULL;
CREATE INDEX secret_tags ON secret USING gin (tags) WHERE deleted_at IS NULL;
CREATE INDEX secret_key ON secret (account_id, vault_id, key_version);
CREATE INDEX secret_purge ON secret (purge_after) WHERE purge_after IS NOT NULL;

CREATE TABLE secret_version (
  account_id uuid NOT NULL,
  vault_id uuid NOT NULL,
  secret_id uuid NOT NULL,
  version integer NOT NULL CHECK (version >= 1),
  type text NOT NULL CHECK (type IN ('text', 'json', 'binary', 'file')),
  key_version integer NOT NULL,
  -- Null once the version is destroyed.
  sealed bytea,
  size integer NOT NULL CHECK (size >= 0),
  created_at timestamptz NOT NULL DEFAULT now(),
  created_by text NOT NULL CHECK (length(created_by) <= 64),
  destroyed_at timestamptz,
  PRIMARY KEY (account_id, vault_id, secret_id, version),
  FOREIGN KEY (account_id, vault_id, secret_id) REFERENCES secret (account_id, vault_id, id),
  FOREIGN KEY (account_id, vault_id, key_version) REFERENCES vault_key (account_id, vault_id, version),
  CHECK ((sealed IS NULL) = (destroyed_at IS NOT NULL))
);
-- What no key seals. Empty as long as every value is sealed, which makes that question cheap to ask.
CREATE INDEX secret_version_unsealed ON secret_version (account_id, vault_id)
  WHERE sealed IS NOT NULL AND get_byte(sealed, 0) <> 1;
CREATE INDEX secret_version_key ON secret_version (account_id, vault_id, key_version) WHERE sealed IS NOT NULL;

-- Answers to requests that carried an Idempotency-Key, written in the transaction of their effect. No value is in one.
CREATE TABLE idempotent_answer (
  account_id uuid NOT NULL,
  actor_id uuid NOT NULL,
  key text NOT NULL CHECK (length(key) BETWEEN 1 AND 255),
  fingerprint bytea NOT NULL CHECK (length(fingerprint) = 32),
  answer text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, actor_id, key)
);
CREATE INDEX idempotent_answer_age ON idempotent_answer (created_at);

-- Work that goes on after its request was answered, a step at a time, and after a crash where it was.
CREATE TABLE operation (
  account_id uuid NOT NULL,
  id uuid NOT NULL,
  kind text NOT NULL CHECK (kind IN ('rotate-data-key')),
  vault_id uuid NOT NULL,
  state text NOT NULL CHECK (state IN ('running', 'done', 'failed')),
  done_items bigint NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, id)
);
CREATE UNIQUE INDEX operation_running ON operation (account_id, vault_id, kind) WHERE state = 'running';
