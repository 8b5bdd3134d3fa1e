-- PostgreSQL plans a prepared lookup for the average vault. Where most vaults have one or two secrets, every index that
-- begins with vault_id looks as good to it as the one that finds the row, and it then read all of a large vault.
-- Lookups of one secret therefore must not be able to use the other indexes: the primary key begins with the id, and
-- the index for whole vaults applies only to queries that state its condition, which every row satisfies.

ALTER TABLE secret_version DROP CONSTRAINT secret_version_vault_id_secret_id_account_id_fkey;
ALTER TABLE secret
  DROP CONSTRAINT secret_pkey,
  ADD PRIMARY KEY (id, vault_id, account_id);
ALTER TABLE secret_version
  ADD FOREIGN KEY (secret_id, vault_id, account_id) REFERENCES secret (id, vault_id, account_id);

DROP INDEX secret_key, secret_version_key;
CREATE INDEX secret_whole_vault ON secret (vault_id, key_version, account_id) WHERE key_version > 0;
CREATE INDEX secret_version_whole_vault ON secret_version (vault_id, key_version, account_id) WHERE key_version > 0;
CREATE INDEX secret_deleted ON secret (vault_id, id, account_id) WHERE deleted_at IS NOT NULL;
