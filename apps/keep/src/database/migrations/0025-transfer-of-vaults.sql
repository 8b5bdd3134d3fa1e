-- A vault can be transferred to another account. It keeps its id, and each account has a stream of its own with that id in the
-- audit log: the records of a vault stay with the account that it was in at the time.

ALTER TABLE audit_stream
  DROP CONSTRAINT audit_stream_pkey,
  ADD PRIMARY KEY (stream_id, log_id, account_id);

DROP FUNCTION find_stream_ends;
CREATE FUNCTION find_stream_ends(log integer, streams uuid[])
RETURNS TABLE (stream_id uuid, account_id uuid, last_index bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
  SELECT ended.stream_id, ended.account_id, ended.last_index FROM audit_stream AS ended
  WHERE ended.log_id = log AND ended.stream_id = ANY (streams);
$$;
REVOKE EXECUTE ON FUNCTION find_stream_ends FROM PUBLIC;
GRANT EXECUTE ON FUNCTION find_stream_ends TO keep_application;

-- As before, with streams told apart by their accounts.
CREATE OR REPLACE FUNCTION append_audit_leaves(log integer, of_epoch integer, checkpoint jsonb, leaves jsonb) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
  old_size bigint := (checkpoint ->> 'oldSize')::bigint;
  new_numbers bigint[] := ARRAY(SELECT value::bigint FROM jsonb_array_elements_text(leaves -> 'numbers'));
BEGIN
  UPDATE audit_log SET
      size = old_size + cardinality(new_numbers),
      last_number = greatest(last_number, (SELECT max(number) FROM unnest(new_numbers) AS number)),
      edge = ARRAY(SELECT decode(value, 'base64') FROM jsonb_array_elements_text(checkpoint -> 'edge')),
      note = checkpoint ->> 'note',
      checkpoint_at = clock_timestamp()
    WHERE id = log AND is_held AND epoch = of_epoch AND size = old_size;
  IF NOT FOUND OR cardinality(new_numbers) = 0 THEN RETURN false; END IF;
  INSERT INTO audit_batch (log_id, first_index, at, note, numbers, previous, writers)
    VALUES (log, old_size, clock_timestamp(), checkpoint ->> 'note', new_numbers,
      ARRAY(SELECT value::bigint FROM jsonb_array_elements_text(leaves -> 'previous')),
      CASE WHEN jsonb_typeof(leaves -> 'writers') = 'array'
        THEN ARRAY(SELECT value::integer FROM jsonb_array_elements_text(leaves -> 'writers')) END);
  INSERT INTO audit_tile (log_id, level, index, hashes)
    SELECT log, tile.level, tile.index, decode(tile.hashes, 'base64')
    FROM jsonb_to_recordset(checkpoint -> 'tiles') AS tile (level integer, index bigint, hashes text);
  INSERT INTO audit_stream (log_id, stream_id, account_id, last_index, records)
    SELECT log, stream.id, stream.account, stream.last, stream.added
    FROM jsonb_to_recordset(leaves -> 'streams') AS stream (id uuid, account uuid, last bigint, added bigint)
    ON CONFLICT (stream_id, log_id, account_id)
    DO UPDATE SET last_index = excluded.last_index, records = audit_stream.records + excluded.records;
  INSERT INTO audit_count (account_id, chain_id, day, outcome, count)
    SELECT counted.account, counted.stream, counted.day, counted.outcome, counted.added
    FROM jsonb_to_recordset(leaves -> 'counts')
      AS counted (account uuid, stream uuid, day date, outcome text, added bigint)
    ON CONFLICT (account_id, chain_id, day, outcome) DO UPDATE SET count = audit_count.count + excluded.count;
  RETURN true;
END $$;

ALTER TABLE api_token
  DROP CONSTRAINT api_token_revoke_reason_check,
  ADD CONSTRAINT api_token_revoke_reason_check CHECK (revoke_reason IN
    ('asked', 'leaked', 'account-deleted', 'parent-revoked', 'member-removed', 'vault-transferred'));
