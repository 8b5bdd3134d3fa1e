-- The wrap of a data key names the account, so that a vault which is moved to another account in the database cannot be
-- decrypted there. Older wraps are replaced in the background, by any node.

ALTER TABLE vault_key ADD COLUMN bound_to_account boolean NOT NULL DEFAULT false;
CREATE INDEX vault_key_unbound ON vault_key (account_id, vault_id, version) WHERE NOT bound_to_account;
GRANT SELECT (bound_to_account) ON vault_key TO keep_maintenance;
