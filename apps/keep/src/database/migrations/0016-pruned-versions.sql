-- What a write does to a secret that has as many versions as its vault allows: it destroys the oldest ones, or is refused.
-- Vaults that exist go on refusing, because that was what their owners chose them with; new vaults destroy.

ALTER TABLE vault ADD COLUMN prunes_versions boolean NOT NULL DEFAULT false;

-- The columns of a view are those that its table had when the view was defined.
CREATE OR REPLACE VIEW live_vault WITH (security_invoker = true) AS SELECT * FROM vault WHERE deleted_at IS NULL;
