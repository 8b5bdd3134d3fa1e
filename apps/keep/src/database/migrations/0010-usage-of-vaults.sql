-- What each vault stores, deleted secrets and old versions included, so that limits can be checked without counting rows.
-- Maintained by triggers, because rows are written in many places. Also: housekeeping finds tokens that ended long ago, and
-- temporary objects cannot stand in for what the audit functions refer to.

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

CREATE FUNCTION add_usage(account uuid, of_vault uuid, live bigint, every bigint, bytes bigint) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, public, pg_temp AS $$
  UPDATE vault SET live_secrets = live_secrets + live, all_secrets = all_secrets + every, stored_bytes = stored_bytes + bytes
  WHERE account_id = account AND id = of_vault AND (live <> 0 OR every <> 0 OR bytes <> 0)
$$;

CREATE FUNCTION count_secrets() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    PERFORM add_usage(account_id, vault_id, count(*) FILTER (WHERE deleted_at IS NULL), count(*), 0)
    FROM new_rows GROUP BY account_id, vault_id;
  ELSE
    PERFORM add_usage(account_id, vault_id, -count(*) FILTER (WHERE deleted_at IS NULL), -count(*), 0)
    FROM old_rows GROUP BY account_id, vault_id;
  END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION count_changed_secrets() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
  PERFORM add_usage(account_id, vault_id, sum(change)::bigint, 0, 0) FROM (
    SELECT account_id, vault_id, (deleted_at IS NULL)::integer AS change FROM new_rows
    UNION ALL SELECT account_id, vault_id, -(deleted_at IS NULL)::integer FROM old_rows
  ) AS changes GROUP BY account_id, vault_id;
  RETURN NULL;
END $$;

CREATE FUNCTION count_versions() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
  IF TG_OP <> 'DELETE' THEN
    PERFORM add_usage(account_id, vault_id, 0, 0, sum(coalesce(octet_length(sealed), 0)))
    FROM new_rows GROUP BY account_id, vault_id;
  END IF;
  IF TG_OP <> 'INSERT' THEN
    PERFORM add_usage(account_id, vault_id, 0, 0, -sum(coalesce(octet_length(sealed), 0)))
    FROM old_rows GROUP BY account_id, vault_id;
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER count_inserted AFTER INSERT ON secret
  REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION count_secrets();
CREATE TRIGGER count_deleted AFTER DELETE ON secret
  REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION count_secrets();
CREATE TRIGGER count_changed AFTER UPDATE ON secret
  REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION count_changed_secrets();
CREATE TRIGGER count_inserted AFTER INSERT ON secret_version
  REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION count_versions();
CREATE TRIGGER count_deleted AFTER DELETE ON secret_version
  REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION count_versions();
CREATE TRIGGER count_changed AFTER UPDATE ON secret_version
  REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION count_versions();

ALTER FUNCTION append_audit SET search_path = pg_catalog, public, pg_temp;
ALTER FUNCTION record_checkpoint SET search_path = pg_catalog, public, pg_temp;
ALTER FUNCTION erase_audit_bodies SET search_path = pg_catalog, public, pg_temp;

CREATE POLICY housekeeping ON api_token FOR SELECT TO keep_maintenance USING (true);
GRANT SELECT (account_id, revoked_at, expires_at) ON api_token TO keep_maintenance;
