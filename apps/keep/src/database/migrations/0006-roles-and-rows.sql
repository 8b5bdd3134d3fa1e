-- Who may do what in the database. Requests run as keep_application: it sees the rows of the one account that its
-- transaction names, and cannot touch the audit chain. Housekeeping runs as keep_maintenance: it sees ids and states of
-- all accounts, and changes nothing. Both are entered by SET ROLE from the login that Keep connects with.

DO $$
DECLARE
  wanted text;
BEGIN
  FOREACH wanted IN ARRAY ARRAY['keep_application', 'keep_maintenance'] LOOP
    BEGIN
      EXECUTE format('CREATE ROLE %I NOLOGIN NOSUPERUSER NOBYPASSRLS', wanted);
    EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
    END;
    IF NOT pg_has_role(current_user, wanted, 'MEMBER') THEN
      EXECUTE format('GRANT %I TO %I', wanted, current_user);
    END IF;
  END LOOP;
END $$;

DO $$
DECLARE
  own text;
BEGIN
  FOREACH own IN ARRAY ARRAY['account', 'identity', 'session', 'vault', 'vault_key', 'folder', 'secret',
    'secret_version', 'idempotent_answer', 'operation', 'api_token', 'audit_chain', 'audit_event',
    'audit_checkpoint', 'audit_count']
  LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', own);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', own);
    EXECUTE format('CREATE POLICY own_account ON %I USING '
      '(account_id = (nullif(current_setting(''keep.account_id'', true), ''''))::uuid)', own);
  END LOOP;
  FOREACH own IN ARRAY ARRAY['vault', 'vault_key', 'secret', 'operation', 'audit_chain', 'idempotent_answer', 'session']
  LOOP
    EXECUTE format('CREATE POLICY housekeeping ON %I FOR SELECT TO keep_maintenance USING (true)', own);
  END LOOP;
END $$;

GRANT SELECT, INSERT, UPDATE, DELETE ON
  account, identity, identity_route, session, session_route, sign_in_attempt, vault, vault_key, folder, secret,
  secret_version, idempotent_answer, operation, api_token, token_route, node
  TO keep_application;
GRANT SELECT, INSERT, UPDATE ON key_encryption_key, server_key TO keep_application;
GRANT SELECT, INSERT, DELETE ON revocation TO keep_application;
GRANT SELECT ON audit_chain, audit_event, audit_checkpoint, audit_count, schema_migration TO keep_application;
REVOKE EXECUTE ON FUNCTION append_audit, record_checkpoint, erase_audit_bodies FROM PUBLIC;
GRANT EXECUTE ON FUNCTION append_audit, record_checkpoint, erase_audit_bodies TO keep_application;

GRANT SELECT (account_id, id, deleted_at, purge_after) ON vault TO keep_maintenance;
GRANT SELECT (account_id, vault_id, version, status, kek_fingerprint) ON vault_key TO keep_maintenance;
GRANT SELECT (account_id, vault_id, id, deleted_at, purge_after) ON secret TO keep_maintenance;
GRANT SELECT (account_id, id, kind, vault_id, state, updated_at) ON operation TO keep_maintenance;
GRANT SELECT ON audit_chain TO keep_maintenance;
GRANT SELECT (account_id, created_at) ON idempotent_answer TO keep_maintenance;
GRANT SELECT (account_id, id, idle_until, absolute_until, ended_at) ON session TO keep_maintenance;

-- What is there as far as anybody is concerned. A forgotten condition cannot bring back what was deleted.
CREATE VIEW live_account WITH (security_invoker = true) AS SELECT * FROM account WHERE status = 'active';
CREATE VIEW live_vault WITH (security_invoker = true) AS SELECT * FROM vault WHERE deleted_at IS NULL;
CREATE VIEW live_secret WITH (security_invoker = true) AS SELECT * FROM secret WHERE deleted_at IS NULL;
CREATE VIEW live_version WITH (security_invoker = true) AS SELECT * FROM secret_version WHERE destroyed_at IS NULL;
CREATE VIEW live_session WITH (security_invoker = true) AS
  SELECT * FROM session WHERE ended_at IS NULL AND idle_until > now() AND absolute_until > now();
CREATE VIEW live_token WITH (security_invoker = true) AS
  SELECT * FROM api_token WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now());
GRANT SELECT ON live_account, live_vault, live_secret, live_version, live_session, live_token TO keep_application;
