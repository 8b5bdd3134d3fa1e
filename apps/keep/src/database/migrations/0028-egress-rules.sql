-- Where and how agents may use a secret without seeing its value, as JSON; null for nowhere. The secret's MAC covers the text.
ALTER TABLE secret
  ADD COLUMN egress text CHECK (length(egress) BETWEEN 2 AND 131072);

-- The columns of a view are those that its table had when the view was defined.
CREATE OR REPLACE VIEW live_secret WITH (security_invoker = true) AS SELECT * FROM secret WHERE deleted_at IS NULL;
