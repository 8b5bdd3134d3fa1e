/** One entry per version of the schema, applied in order; entries are never changed, only added. */
export const sqliteMigrations: readonly string[] = [
  `
  CREATE TABLE access_key (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    role TEXT NOT NULL,
    sha256 TEXT NOT NULL UNIQUE,
    models TEXT,
    priority INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    requests_per_minute INTEGER,
    tokens_per_minute INTEGER,
    concurrent_requests INTEGER,
    tokens_per_day INTEGER,
    tokens_per_month INTEGER
  ) STRICT;
  CREATE TABLE key_state (
    key_id TEXT PRIMARY KEY REFERENCES access_key,
    last_number INTEGER NOT NULL DEFAULT 0,
    day TEXT NOT NULL DEFAULT '',
    day_tokens INTEGER NOT NULL DEFAULT 0,
    month TEXT NOT NULL DEFAULT '',
    month_tokens INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE TABLE key_request (
    key_id TEXT NOT NULL REFERENCES access_key,
    number INTEGER NOT NULL,
    node TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    settled_at INTEGER,
    PRIMARY KEY (key_id, number)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX key_request_started ON key_request (key_id, started_at);
  CREATE INDEX key_request_settled ON key_request (key_id, settled_at, tokens);
  CREATE TABLE node (id TEXT PRIMARY KEY, alive_until INTEGER NOT NULL) STRICT;
  CREATE TABLE key_version (version INTEGER NOT NULL) STRICT;
  INSERT INTO key_version VALUES (1);
  `,
  `
  -- Null for a request that runs no model.
  ALTER TABLE key_request ADD COLUMN input_tokens INTEGER;
  CREATE TABLE usage_record (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    finished_at INTEGER NOT NULL,
    key_id TEXT NOT NULL,
    key_name TEXT NOT NULL,
    model TEXT NOT NULL,
    engine TEXT NOT NULL,
    location TEXT NOT NULL,
    address TEXT,
    input_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    queue_milliseconds INTEGER,
    load_milliseconds INTEGER,
    first_token_milliseconds INTEGER,
    total_milliseconds INTEGER NOT NULL,
    stop_reason TEXT,
    failure TEXT
  ) STRICT;
  CREATE INDEX usage_record_finished ON usage_record (finished_at);
  -- Each ends with the id, so that the newest rows of a filter are found without reading others.
  CREATE INDEX usage_record_key ON usage_record (key_name);
  CREATE INDEX usage_record_model ON usage_record (model);
  CREATE INDEX usage_record_key_model ON usage_record (key_name, model);
  CREATE TABLE usage_hour (
    hour INTEGER NOT NULL,
    key_id TEXT NOT NULL,
    key_name TEXT NOT NULL,
    model TEXT NOT NULL,
    location TEXT NOT NULL,
    requests INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    queued INTEGER NOT NULL,
    queue_milliseconds INTEGER NOT NULL,
    first_tokens INTEGER NOT NULL,
    first_token_milliseconds INTEGER NOT NULL,
    PRIMARY KEY (hour, key_id, key_name, model, location)
  ) STRICT, WITHOUT ROWID;
  CREATE TRIGGER usage_record_sum AFTER INSERT ON usage_record BEGIN
    INSERT INTO usage_hour VALUES (
      NEW.finished_at - NEW.finished_at % 3600000, NEW.key_id, NEW.key_name, NEW.model, NEW.location, 1,
      NEW.failure IS NOT NULL, NEW.input_tokens, NEW.cached_tokens, NEW.output_tokens,
      NEW.queue_milliseconds IS NOT NULL, coalesce(NEW.queue_milliseconds, 0),
      NEW.first_token_milliseconds IS NOT NULL, coalesce(NEW.first_token_milliseconds, 0)
    ) ON CONFLICT DO UPDATE SET
      requests = requests + 1,
      failed = failed + excluded.failed,
      input_tokens = input_tokens + excluded.input_tokens,
      cached_tokens = cached_tokens + excluded.cached_tokens,
      output_tokens = output_tokens + excluded.output_tokens,
      queued = queued + excluded.queued,
      queue_milliseconds = queue_milliseconds + excluded.queue_milliseconds,
      first_tokens = first_tokens + excluded.first_tokens,
      first_token_milliseconds = first_token_milliseconds + excluded.first_token_milliseconds;
  END;
  `,
  `
  -- Has every column that a window counts, so that the rows of a window are read once and without the table.
  CREATE INDEX key_request_window ON key_request (key_id, settled_at, tokens, started_at);
  DROP INDEX key_request_settled;
  DROP INDEX key_request_started;
  `,
];
