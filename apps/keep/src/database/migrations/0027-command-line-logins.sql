-- Logins of command lines: a one-time code that a browser carries to a port of this person's machine, or a device code that
-- waits until a person enters its user code. Hashes are keyed. The MAC covers what was asked for and what was decided, so
-- that no login can be added, approved, extended or given to another program in the database. Without row-level security,
-- because a login is found before its account is known.
CREATE TABLE command_line_login (
  code_hash bytea PRIMARY KEY CHECK (length(code_hash) = 32),
  -- Null for a redirect.
  user_code_hash bytea UNIQUE CHECK (length(user_code_hash) = 32),
  -- Null for a device.
  code_challenge text CHECK (length(code_challenge) = 43),
  machine text NOT NULL CHECK (length(machine) BETWEEN 1 AND 64),
  address text NOT NULL CHECK (length(address) <= 64),
  permission text NOT NULL CHECK (permission IN ('read', 'write')),
  expires_at timestamptz NOT NULL,
  polled_at timestamptz,
  decision text CHECK (decision IN ('approve', 'deny')),
  -- Where the token is created, and who approved it in which session.
  account_id uuid,
  person_id uuid,
  session_id uuid,
  mac bytea NOT NULL CHECK (length(mac) = 32),
  CHECK ((user_code_hash IS NULL) <> (code_challenge IS NULL)),
  CHECK ((decision IS NULL) = (person_id IS NULL) AND (decision IS NULL) = (session_id IS NULL))
);
CREATE INDEX command_line_login_expiry ON command_line_login (expires_at);
CREATE INDEX command_line_login_person ON command_line_login (person_id);
GRANT SELECT, INSERT, UPDATE, DELETE ON command_line_login TO keep_application;
