import { reserveMigration } from "./postgres-reserve-schema.ts";
import { usageMigration } from "./postgres-usage-schema.ts";

/** One entry per version of the schema, applied in order; entries are never changed, only added. */
export const postgresMigrations: readonly string[] = [
  `
  CREATE TABLE hearth_access_key (
    id text PRIMARY KEY,
    name text NOT NULL UNIQUE,
    role text NOT NULL,
    sha256 text NOT NULL UNIQUE,
    models text,
    priority integer NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint,
    revoked_at bigint,
    requests_per_minute bigint,
    tokens_per_minute bigint,
    concurrent_requests bigint,
    tokens_per_day bigint,
    tokens_per_month bigint
  );
  CREATE TABLE hearth_key_state (
    key_id text PRIMARY KEY REFERENCES hearth_access_key,
    last_number bigint NOT NULL DEFAULT 0,
    day text NOT NULL DEFAULT '',
    day_tokens bigint NOT NULL DEFAULT 0,
    month text NOT NULL DEFAULT '',
    month_tokens bigint NOT NULL DEFAULT 0
  );
  CREATE TABLE hearth_key_request (
    key_id text NOT NULL REFERENCES hearth_access_key,
    number bigint NOT NULL,
    node text NOT NULL,
    started_at bigint NOT NULL,
    tokens bigint NOT NULL,
    settled_at bigint,
    PRIMARY KEY (key_id, number)
  );
  CREATE INDEX hearth_key_request_started ON hearth_key_request (key_id, started_at);
  CREATE INDEX hearth_key_request_settled ON hearth_key_request (key_id, settled_at);
  CREATE TABLE hearth_node (id text PRIMARY KEY, alive_until bigint NOT NULL);
  CREATE TABLE hearth_key_version (version bigint NOT NULL);
  INSERT INTO hearth_key_version VALUES (1);

  -- The clock of the database is the same for all nodes.
  CREATE FUNCTION hearth_now() RETURNS bigint LANGUAGE sql VOLATILE AS
    $$ SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;

  -- Locks the key first. Each later statement of a volatile function sees what was committed before it, so that the
  -- sums include every request that was admitted before the lock was granted.
  CREATE FUNCTION hearth_reserve(wanted_key text, wanted_node text, wanted bigint, grown bigint, width bigint)
  RETURNS json LANGUAGE plpgsql VOLATILE AS $$
  DECLARE
    limits hearth_access_key;
    state hearth_key_state;
    moment bigint;
    day_name text;
    month_name text;
    requests bigint;
    newest_start bigint;
    settled bigint;
    newest_settled bigint;
    running bigint;
    held bigint;
    day_tokens bigint;
    month_tokens bigint;
    denied text;
    wait bigint := 1000;
    needed bigint;
    assigned bigint := grown;
  BEGIN
    SELECT * INTO state FROM hearth_key_state WHERE key_id = wanted_key FOR UPDATE;
    IF NOT FOUND THEN RETURN NULL; END IF;
    SELECT * INTO limits FROM hearth_access_key WHERE id = wanted_key;
    moment := hearth_now();
    day_name := to_char(to_timestamp(moment / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD');
    month_name := left(day_name, 7);
    SELECT count(*), max(started_at) INTO requests, newest_start
      FROM hearth_key_request WHERE key_id = wanted_key AND started_at > moment - width;
    SELECT coalesce(sum(tokens), 0), max(settled_at) INTO settled, newest_settled
      FROM hearth_key_request WHERE key_id = wanted_key AND settled_at > moment - width;
    SELECT count(*), coalesce(sum(tokens), 0) INTO running, held
      FROM hearth_key_request WHERE key_id = wanted_key AND settled_at IS NULL;
    day_tokens := held + CASE WHEN state.day = day_name THEN state.day_tokens ELSE 0 END;
    month_tokens := held + CASE WHEN state.month = month_name THEN state.month_tokens ELSE 0 END;
    IF grown IS NULL AND requests >= limits.requests_per_minute THEN
      denied := 'requestsPerMinute';
      SELECT started_at + width - moment INTO wait FROM hearth_key_request
        WHERE key_id = wanted_key AND started_at > moment - width
        ORDER BY started_at DESC OFFSET greatest(limits.requests_per_minute - 1, 0) LIMIT 1;
    ELSIF grown IS NULL AND running >= limits.concurrent_requests THEN
      denied := 'concurrentRequests';
    ELSIF month_tokens + wanted > limits.tokens_per_month THEN
      denied := 'tokensPerMonth';
      wait := -1;
    ELSIF day_tokens + wanted > limits.tokens_per_day THEN
      denied := 'tokensPerDay';
      wait := -1;
    ELSIF settled + held + wanted > limits.tokens_per_minute THEN
      denied := 'tokensPerMinute';
      needed := settled + held + wanted - limits.tokens_per_minute;
      SELECT passed.settled_at + width - moment INTO wait FROM (
        SELECT settled_at, sum(tokens) OVER (ORDER BY settled_at, number) AS freed FROM hearth_key_request
        WHERE key_id = wanted_key AND settled_at > moment - width
      ) AS passed WHERE passed.freed >= needed ORDER BY passed.settled_at LIMIT 1;
    END IF;
    IF denied IS NULL AND grown IS NULL THEN
      assigned := state.last_number + 1;
      INSERT INTO hearth_key_request (key_id, number, node, started_at, tokens)
        VALUES (wanted_key, assigned, wanted_node, moment, wanted);
      UPDATE hearth_key_state SET last_number = assigned WHERE key_id = wanted_key;
    ELSIF denied IS NULL THEN
      UPDATE hearth_key_request SET tokens = tokens + wanted
        WHERE key_id = wanted_key AND number = grown AND settled_at IS NULL;
    END IF;
    IF denied IS NULL THEN
      held := held + wanted;
      IF grown IS NULL THEN
        requests := requests + 1;
        newest_start := moment;
      END IF;
    END IF;
    RETURN json_build_object(
      'number', assigned, 'denied', denied, 'wait', wait, 'moment', moment,
      'requests', requests, 'tokens', settled + held,
      'requestsReset', coalesce(newest_start + width - moment, 0),
      'tokensReset', CASE WHEN held > 0 THEN width ELSE coalesce(newest_settled + width - moment, 0) END,
      'requestsPerMinute', limits.requests_per_minute, 'tokensPerMinute', limits.tokens_per_minute,
      'concurrentRequests', limits.concurrent_requests,
      'tokensPerDay', limits.tokens_per_day, 'tokensPerMonth', limits.tokens_per_month);
  END $$;

  CREATE FUNCTION hearth_settle(wanted_key text, wanted_number bigint, used bigint)
  RETURNS void LANGUAGE plpgsql VOLATILE AS $$
  DECLARE
    moment bigint;
    day_name text;
  BEGIN
    PERFORM 1 FROM hearth_key_state WHERE key_id = wanted_key FOR UPDATE;
    moment := hearth_now();
    day_name := to_char(to_timestamp(moment / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD');
    UPDATE hearth_key_request SET tokens = used, settled_at = moment
      WHERE key_id = wanted_key AND number = wanted_number AND settled_at IS NULL;
    IF NOT FOUND THEN RETURN; END IF;
    UPDATE hearth_key_state SET
      day_tokens = used + CASE WHEN day = day_name THEN day_tokens ELSE 0 END, day = day_name,
      month_tokens = used + CASE WHEN month = left(day_name, 7) THEN month_tokens ELSE 0 END,
      month = left(day_name, 7)
      WHERE key_id = wanted_key;
  END $$;
  `,
  usageMigration,
  reserveMigration,
];
