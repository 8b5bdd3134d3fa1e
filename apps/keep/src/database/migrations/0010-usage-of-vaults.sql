-- What each vault stores, deleted secrets and old versions included, so that limits can be checked without counting rows.
-- Every change stores them together with what it changes. Also: housekeeping finds tokens that ended long ago, and temporary
-- objects cannot stand in for what the audit functions refer to.

ALTER TABLE vault
  ADD COLUMN live_secrets integer NOT NULL DEFAULT 0,
  ADD COLUMN all_secrets integer NOT NULL DEFAULT 0,
  ADD COLUMN stored_bytes bigint NOT NULL DEFAULT 0;

-- The owner of the tables is subject to row-level security too, and counts the rows of all accounts here.
ALTER TABLE vault NO FORCE ROW LEVEL SECURITY;
ALTER TABLE secret NO FORCE ROW LEVEL SECURITY;
ALTER TABLE secret_version NO FORCE ROW LEVEL SECURITY;
UPDATE vault SET live_secrets = counted.live, all_secrets = counted.every
  FROM (SELECT account_id, vault_id, count(*) AS every, count(*) FILTER (WHERE deleted_at IS NULL) AS live
        FROM secret GROUP BY account_id, vault_id) AS counted
  WHERE vault.account_id = counted.account_id AND vault.id = counted.vault_id;
UPDATE vault SET stored_bytes = counted.bytes
  FROM (SELECT account_id, vault_id, sum(coalesce(octet_length(sealed), 0)) AS bytes
        FROM secret_version GROUP BY account_id, vault_id) AS counted
  WHERE vault.account_id = counted.account_id AND vault.id = counted.vault_id;
ALTER TABLE vault FORCE ROW LEVEL SECURITY;
ALTER TABLE secret FORCE ROW LEVEL SECURITY;
ALTER TABLE secret_version FORCE ROW LEVEL SECURITY;

ALTER FUNCTION append_audit SET search_path = pg_catalog, public, pg_temp;
ALTER FUNCTION record_checkpoint SET search_path = pg_catalog, public, pg_temp;
ALTER FUNCTION erase_audit_bodies SET search_path = pg_catalog, public, pg_temp;

CREATE POLICY housekeeping ON api_token FOR SELECT TO keep_maintenance USING (true);
GRANT SELECT (account_id, revoked_at, expires_at) ON api_token TO keep_maintenance;
