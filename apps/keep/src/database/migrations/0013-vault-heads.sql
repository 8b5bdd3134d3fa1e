-- One value per vault that covers its settings and the revision of each of its secrets, sealed with a key that is not in
-- the database: a secret's row that is put back, removed or added outside Keep does not match it.

ALTER TABLE vault ADD COLUMN head bytea;

-- Every change now stores the counts together with the head. Triggers updated the vault's row once per statement, which
-- took about half of the time of a write.
DROP TRIGGER count_inserted ON secret;
DROP TRIGGER count_deleted ON secret;
DROP TRIGGER count_changed ON secret;
DROP TRIGGER count_inserted ON secret_version;
DROP TRIGGER count_deleted ON secret_version;
DROP TRIGGER count_changed ON secret_version;
DROP FUNCTION count_secrets, count_changed_secrets, count_versions, add_usage;
