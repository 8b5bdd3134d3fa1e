-- The key-encryption keys this database was sealed with, by fingerprint. The keys themselves are never stored:
-- a fingerprint lets Keep say at start that it was given the wrong key, instead of failing on the first read.
CREATE TABLE key_encryption_key (
  fingerprint text PRIMARY KEY CHECK (fingerprint ~ '^[0-9a-f]{16}$'),
  status text NOT NULL CHECK (status IN ('active', 'retired')),
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE UNIQUE INDEX key_encryption_key_active ON key_encryption_key (status) WHERE status = 'active';
