-- Rows that decide who may do what carry a MAC under a key that is not in the database. The MACs of an account's rows
-- contain its epoch, which every revocation raises: a row that is put back afterwards has a MAC of an earlier epoch.

ALTER TABLE server_key
  DROP CONSTRAINT server_key_purpose_check,
  ADD CONSTRAINT server_key_purpose_check CHECK (purpose IN ('sealing', 'signing', 'integrity'));
ALTER TABLE account ADD COLUMN epoch integer NOT NULL DEFAULT 1, ADD COLUMN mac bytea;
ALTER TABLE api_token ADD COLUMN mac bytea;
ALTER TABLE token_route ADD COLUMN mac bytea;

-- Accounts are counted at start, and signed once when an older database is upgraded.
CREATE POLICY housekeeping ON account FOR SELECT TO keep_maintenance USING (true);
GRANT SELECT (account_id) ON account TO keep_maintenance;
