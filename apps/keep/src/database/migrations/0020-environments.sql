-- The environments of a vault, which are folders at its top, and the folder from which they inherit. The vault's head covers both.

ALTER TABLE vault
  ADD COLUMN environments text[] NOT NULL DEFAULT '{}' CHECK (cardinality(environments) <= 32),
  ADD COLUMN base_folder text CHECK (base_folder ~ '^/[^/]+$');

-- The columns of a view are those that its table had when the view was defined.
CREATE OR REPLACE VIEW live_vault WITH (security_invoker = true) AS SELECT * FROM vault WHERE deleted_at IS NULL;
