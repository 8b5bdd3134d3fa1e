-- Memberships in organizations are leases: what admitted an identity, and when its membership was last confirmed, are covered
-- by the MAC of the identity's row. 'none' is an identity that was linked although no rule admits it. Rows from before have
-- neither, and keep their MACs.
ALTER TABLE identity
  ADD COLUMN admitted_by text CHECK (admitted_by IN ('organization', 'other-rule', 'none')),
  ADD COLUMN confirmed_at timestamptz,
  ADD CONSTRAINT identity_confirmed CHECK ((admitted_by IS NOT DISTINCT FROM 'organization') = (confirmed_at IS NOT NULL));

-- Like a suspended account, but the next admitted sign-in resumes it.
ALTER TABLE account
  DROP CONSTRAINT account_status_check,
  ADD CONSTRAINT account_status_check CHECK (status IN ('active', 'disabled', 'paused', 'deleted'));

-- When the next check is due, over all nodes; the node that finds it due moves it, and so runs the check.
CREATE TABLE membership_check (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  due_at timestamptz NOT NULL DEFAULT now(),
  succeeded_at timestamptz
);
INSERT INTO membership_check DEFAULT VALUES;
GRANT SELECT, UPDATE ON membership_check TO keep_application;

-- Checks list accounts and verify the MACs of what they decide by.
GRANT SELECT (epoch, mac) ON account TO keep_maintenance;
GRANT SELECT (admitted_by, confirmed_at, mac) ON identity TO keep_maintenance;
