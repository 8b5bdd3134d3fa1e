-- Operators manage accounts: they list, suspend and resume them, and read nothing that is in them. The flag is covered by the
-- MAC of the account's row, and so is the status, so that neither can be changed in the database. A suspended account has
-- the status 'disabled'.

ALTER TABLE account ADD COLUMN is_operator boolean NOT NULL DEFAULT false;
CREATE INDEX account_operator ON account (account_id) WHERE is_operator;

-- Operators see all accounts, through the role that changes nothing.
GRANT SELECT (display_name, status, created_at, is_operator) ON account TO keep_maintenance;
CREATE POLICY housekeeping ON identity FOR SELECT TO keep_maintenance USING (true);
GRANT SELECT (account_id, id, provider, issuer, subject, login, email, last_sign_in_at) ON identity TO keep_maintenance;
