-- Every stored value has the encrypted format. A constraint guarantees it when a row is written, so that no query has to
-- look for values that do not: that scanned the versions of a vault for every list of vaults and every change.

ALTER TABLE secret_version ADD CONSTRAINT secret_version_is_encrypted
  CHECK (sealed IS NULL OR substring(sealed FROM 1 FOR 1) = '\x01'::bytea);
DROP INDEX secret_version_unsealed;
