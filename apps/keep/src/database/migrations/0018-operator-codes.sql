-- Codes with which the first operator is chosen. The hash is keyed and covers the expiry, so that no code can be added or
-- extended in the database. All are deleted when one is used.
CREATE TABLE operator_code (
  code_hash bytea PRIMARY KEY CHECK (length(code_hash) = 32),
  expires_at timestamptz NOT NULL
);
GRANT SELECT, INSERT, DELETE ON operator_code TO keep_application;
