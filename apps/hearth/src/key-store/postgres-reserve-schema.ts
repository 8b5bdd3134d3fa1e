/** Admission reads the rows of a window once. Versions without a ledger call the function without the last parameter. */
export const reserveMigration = `
  -- Every request that counts for a window has ended since it began, or still runs: the other index finds both.
  DROP INDEX hearth_key_request_started;

  -- Locks the key first. Each later statement of a volatile function sees what was committed before it, so that the
  -- sums include every request that was admitted before the lock was granted.
  CREATE OR REPLACE FUNCTION hearth_reserve_input(
    wanted_key text, wanted_node text, wanted bigint, grown bigint, width bigint, wanted_input bigint
  ) RETURNS json LANGUAGE plpgsql VOLATILE AS $$
  DECLARE
    limits hearth_access_key;
    state hearth_key_state;
    moment bigint;
    day_name text;
    ended bigint;
    settled bigint;
    newest_settled bigint;
    running bigint;
    held bigint;
    requests bigint;
    newest_start bigint;
    newest_running bigint;
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
    SELECT count(*) FILTER (WHERE started_at > moment - width), max(started_at), coalesce(sum(tokens), 0), max(settled_at)
      INTO ended, newest_start, settled, newest_settled
      FROM hearth_key_request WHERE key_id = wanted_key AND settled_at > moment - width;
    SELECT count(*) FILTER (WHERE started_at > moment - width), max(started_at), coalesce(sum(tokens), 0), count(*)
      INTO requests, newest_running, held, running
      FROM hearth_key_request WHERE key_id = wanted_key AND settled_at IS NULL;
    requests := requests + ended;
    newest_start := greatest(newest_start, newest_running);
    day_tokens := held + CASE WHEN state.day = day_name THEN state.day_tokens ELSE 0 END;
    month_tokens := held + CASE WHEN state.month = left(day_name, 7) THEN state.month_tokens ELSE 0 END;
    IF grown IS NULL AND requests >= limits.requests_per_minute THEN
      denied := 'requestsPerMinute';
      SELECT started_at + width - moment INTO wait FROM hearth_key_request
        WHERE key_id = wanted_key AND number = state.last_number - greatest(limits.requests_per_minute - 1, 0);
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
    IF denied IS NULL THEN
      held := held + wanted;
      IF grown IS NULL THEN
        assigned := state.last_number + 1;
        INSERT INTO hearth_key_request (key_id, number, node, started_at, tokens, input_tokens)
          VALUES (wanted_key, assigned, wanted_node, moment, wanted, wanted_input);
        UPDATE hearth_key_state SET last_number = assigned WHERE key_id = wanted_key;
        requests := requests + 1;
        newest_start := moment;
      ELSE
        UPDATE hearth_key_request SET tokens = tokens + wanted
          WHERE key_id = wanted_key AND number = grown AND settled_at IS NULL;
      END IF;
    END IF;
    RETURN json_build_object(
      'number', assigned, 'denied', denied, 'wait', wait, 'moment', moment,
      'requests', requests, 'tokens', settled + held,
      'requestsReset', greatest(newest_start + width - moment, 0),
      'tokensReset', CASE WHEN held > 0 THEN width ELSE coalesce(newest_settled + width - moment, 0) END,
      'requestsPerMinute', limits.requests_per_minute, 'tokensPerMinute', limits.tokens_per_minute,
      'concurrentRequests', limits.concurrent_requests,
      'tokensPerDay', limits.tokens_per_day, 'tokensPerMonth', limits.tokens_per_month);
  END $$;

  CREATE OR REPLACE FUNCTION hearth_reserve(
    wanted_key text, wanted_node text, wanted bigint, grown bigint, width bigint
  ) RETURNS json LANGUAGE sql VOLATILE AS $$
    SELECT hearth_reserve_input(wanted_key, wanted_node, wanted, grown, width, NULL)
  $$;
`;
