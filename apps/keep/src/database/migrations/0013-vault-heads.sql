-- One value per vault that covers its settings and the revision of each of its secrets, sealed with a key that is not in
-- the database: a secret's row that is put back, removed or added outside Keep does not match it.

ALTER TABLE vault ADD COLUMN head bytea;
