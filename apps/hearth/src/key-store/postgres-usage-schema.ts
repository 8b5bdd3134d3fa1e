/** The ledger. A version of Hearth that does not know it settles requests without rows, until it is updated too. */
export const usageMigration = `
  -- Null for a request that runs no model.
  ALTER TABLE hearth_key_request ADD COLUMN input_tokens bigint;
  CREATE TABLE hearth_usage_record (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    finished_at bigint NOT NULL,
    key_id text NOT NULL,
    key_name text NOT NULL,
    model text NOT NULL,
    engine text NOT NULL,
    location text NOT NULL,
    address text,
    input_tokens bigint NOT NULL,
    cached_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    queue_milliseconds bigint,
    load_milliseconds bigint,
    first_token_milliseconds bigint,
    total_milliseconds bigint NOT NULL,
    stop_reason text,
    failure text
  );
  CREATE INDEX hearth_usage_record_finished ON hearth_usage_record (finished_at);
  CREATE INDEX hearth_usage_record_key ON hearth_usage_record (key_name, id);
  CREATE INDEX hearth_usage_record_model ON hearth_usage_record (model, id);
  CREATE INDEX hearth_usage_record_key_model ON hearth_usage_record (key_name, model, id);
  CREATE TABLE hearth_usage_hour (
    hour bigint NOT NULL,
    key_id text NOT NULL,
    key_name text NOT NULL,
    model text NOT NULL,
    location text NOT NULL,
    requests bigint NOT NULL,
    failed bigint NOT NULL,
    input_tokens bigint NOT NULL,
    cached_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    queued bigint NOT NULL,
    queue_milliseconds bigint NOT NULL,
    first_tokens bigint NOT NULL,
    first_token_milliseconds bigint NOT NULL,
    PRIMARY KEY (hour, key_id, key_name, model, location)
  );

  CREATE FUNCTION hearth_sum_usage() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO hearth_usage_hour AS sums VALUES (
      NEW.finished_at - NEW.finished_at % 3600000, NEW.key_id, NEW.key_name, NEW.model, NEW.location, 1,
      (NEW.failure IS NOT NULL)::integer, NEW.input_tokens, NEW.cached_tokens, NEW.output_tokens,
      (NEW.queue_milliseconds IS NOT NULL)::integer, coalesce(NEW.queue_milliseconds, 0),
      (NEW.first_token_milliseconds IS NOT NULL)::integer, coalesce(NEW.first_token_milliseconds, 0)
    ) ON CONFLICT (hour, key_id, key_name, model, location) DO UPDATE SET
      requests = sums.requests + 1,
      failed = sums.failed + excluded.failed,
      input_tokens = sums.input_tokens + excluded.input_tokens,
      cached_tokens = sums.cached_tokens + excluded.cached_tokens,
      output_tokens = sums.output_tokens + excluded.output_tokens,
      queued = sums.queued + excluded.queued,
      queue_milliseconds = sums.queue_milliseconds + excluded.queue_milliseconds,
      first_tokens = sums.first_tokens + excluded.first_tokens,
      first_token_milliseconds = sums.first_token_milliseconds + excluded.first_token_milliseconds;
    RETURN NULL;
  END $$;
  CREATE TRIGGER hearth_usage_record_sum AFTER INSERT ON hearth_usage_record
    FOR EACH ROW EXECUTE FUNCTION hearth_sum_usage();

  CREATE FUNCTION hearth_reserve_input(
    wanted_key text, wanted_node text, wanted bigint, grown bigint, width bigint, wanted_input bigint
  ) RETURNS json LANGUAGE plpgsql VOLATILE AS $$
  DECLARE
    reserved json := hearth_reserve(wanted_key, wanted_node, wanted, grown, width);
  BEGIN
    IF wanted_input IS NOT NULL AND grown IS NULL AND reserved->>'denied' IS NULL THEN
      UPDATE hearth_key_request SET input_tokens = wanted_input
        WHERE key_id = wanted_key AND number = (reserved->>'number')::bigint;
    END IF;
    RETURN reserved;
  END $$;

  CREATE FUNCTION hearth_add_usage(owner_id text, owner_name text, moment bigint, entry json)
  RETURNS void LANGUAGE sql VOLATILE AS $$
    INSERT INTO hearth_usage_record (finished_at, key_id, key_name, model, engine, location, address, input_tokens,
      cached_tokens, output_tokens, queue_milliseconds, load_milliseconds, first_token_milliseconds, total_milliseconds,
      stop_reason, failure)
    SELECT moment, owner_id, owner_name, used.* FROM json_to_record(entry) AS used(model text, engine text, location text,
      address text, "inputTokens" bigint, "cachedTokens" bigint, "outputTokens" bigint, "queueMilliseconds" bigint,
      "loadMilliseconds" bigint, "firstTokenMilliseconds" bigint, "totalMilliseconds" bigint, "stopReason" text,
      failure text);
  $$;

  -- Charges a key of the database, which must be locked.
  CREATE FUNCTION hearth_charge(wanted_key text, moment bigint, used bigint)
  RETURNS void LANGUAGE plpgsql VOLATILE AS $$
  DECLARE
    day_name text := to_char(to_timestamp(moment / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD');
  BEGIN
    UPDATE hearth_key_state SET
      day_tokens = used + CASE WHEN day = day_name THEN day_tokens ELSE 0 END, day = day_name,
      month_tokens = used + CASE WHEN month = left(day_name, 7) THEN month_tokens ELSE 0 END,
      month = left(day_name, 7)
      WHERE key_id = wanted_key;
  END $$;

  -- A null entry means that the process of the request died: it is charged what it had reserved.
  CREATE FUNCTION hearth_settle_usage(wanted_key text, wanted_number bigint, entry json)
  RETURNS void LANGUAGE plpgsql VOLATILE AS $$
  DECLARE
    moment bigint;
    request hearth_key_request;
    used bigint;
    row_of_ledger json := entry;
  BEGIN
    PERFORM 1 FROM hearth_key_state WHERE key_id = wanted_key FOR UPDATE;
    SELECT * INTO request FROM hearth_key_request
      WHERE key_id = wanted_key AND number = wanted_number AND settled_at IS NULL;
    IF NOT FOUND THEN RETURN; END IF;
    moment := hearth_now();
    IF entry IS NOT NULL THEN
      used := (entry->>'inputTokens')::bigint + (entry->>'outputTokens')::bigint;
    ELSE
      used := request.tokens;
      IF request.input_tokens IS NOT NULL THEN
        row_of_ledger := json_build_object('model', '', 'engine', '', 'location', '',
          'inputTokens', least(request.input_tokens, used), 'cachedTokens', 0,
          'outputTokens', used - least(request.input_tokens, used),
          'totalMilliseconds', greatest(0, moment - request.started_at), 'failure', 'interrupted');
      END IF;
    END IF;
    UPDATE hearth_key_request SET tokens = used, settled_at = moment
      WHERE key_id = wanted_key AND number = wanted_number;
    PERFORM hearth_charge(wanted_key, moment, used);
    IF row_of_ledger IS NOT NULL THEN
      PERFORM hearth_add_usage(wanted_key, (SELECT name FROM hearth_access_key WHERE id = wanted_key), moment, row_of_ledger);
    END IF;
  END $$;

  -- A list of objects with an owner and an entry, in the order in which keys are locked.
  CREATE FUNCTION hearth_record_usage(entries json) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
  DECLARE
    moment bigint := hearth_now();
    item json;
    owner_id text;
    entry json;
  BEGIN
    FOR item IN SELECT value FROM json_array_elements(entries) LOOP
      owner_id := item->>'id';
      entry := item->'entry';
      IF owner_id <> '' THEN
        PERFORM 1 FROM hearth_key_state WHERE key_id = owner_id FOR UPDATE;
        PERFORM hearth_charge(owner_id, moment, (entry->>'inputTokens')::bigint + (entry->>'outputTokens')::bigint);
      END IF;
      PERFORM hearth_add_usage(owner_id, item->>'name', moment, entry);
    END LOOP;
  END $$;
`;
