-- The keys of what a vault holds end with the account. The vault decides the account, which PostgreSQL does not know: it
-- multiplies the two, takes the secrets of a vault for a handful, and then any key that begins with both looks as good as
-- the one that finds the row. A lookup in a vault of thousands read all of it.

ALTER TABLE secret_version
  DROP CONSTRAINT secret_version_account_id_vault_id_secret_id_fkey,
  DROP CONSTRAINT secret_version_pkey,
  ADD PRIMARY KEY (secret_id, version, vault_id, account_id);
ALTER TABLE secret
  DROP CONSTRAINT secret_pkey,
  ADD PRIMARY KEY (vault_id, id, account_id);
ALTER TABLE secret_version
  ADD FOREIGN KEY (vault_id, secret_id, account_id) REFERENCES secret (vault_id, id, account_id);

DROP INDEX secret_path, secret_key, secret_version_unsealed, secret_version_key;
CREATE UNIQUE INDEX secret_path ON secret (vault_id, folder, name, account_id) WHERE deleted_at IS NULL;
CREATE INDEX secret_key ON secret (vault_id, key_version, account_id);
CREATE INDEX secret_version_unsealed ON secret_version (vault_id, account_id)
  WHERE sealed IS NOT NULL AND get_byte(sealed, 0) <> 1;
CREATE INDEX secret_version_key ON secret_version (vault_id, key_version, account_id) WHERE sealed IS NOT NULL;

DROP INDEX audit_event_revision;
ALTER TABLE audit_event
  DROP CONSTRAINT audit_event_pkey,
  ADD PRIMARY KEY (chain_id, seq, account_id);
CREATE UNIQUE INDEX audit_event_revision ON audit_event (chain_id, subject_id, revision, account_id)
  WHERE subject_id IS NOT NULL;

-- As before, by the keys above.
CREATE OR REPLACE FUNCTION erase_audit_bodies() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public AS $$
DECLARE
  owner uuid := nullif(current_setting('keep.account_id', true), '')::uuid;
BEGIN
  IF EXISTS (SELECT FROM account WHERE account_id = owner AND status = 'deleted') THEN
    UPDATE audit_event SET body = NULL
    WHERE account_id = owner AND chain_id IN (SELECT id FROM audit_chain WHERE account_id = owner);
  END IF;
END $$;
