-- The audit log as a transparency log. Each node keeps a log of its own: a Merkle tree over the records that it committed.
-- A record is one row, written in the transaction of its change or, for reads, in a batch. Within about a second its node
-- makes it a leaf of its log, and stores the tiles of the tree and a signed checkpoint. No lock spans nodes or vaults.
-- The application inserts records and calls the functions below: no role that a request runs under can change or delete
-- a record, a leaf or a checkpoint.

CREATE TABLE audit_record (
  -- The id of the vault, or of the account.
  stream_id uuid NOT NULL,
  -- Microseconds since 1970, unique in its log.
  number bigint NOT NULL,
  -- The log of the node that wrote it.
  log_id integer NOT NULL,
  account_id uuid NOT NULL,
  outcome text NOT NULL,
  -- The secret that changed, or the vault itself, and its revision since.
  subject_id uuid,
  revision bigint,
  -- In canonical JSON (RFC 8785). Null once erased, and then its hash is stored.
  body text,
  body_hash bytea,
  -- So that a node adopts what another one left behind, and nothing that Keep did not write.
  mac bytea NOT NULL,
  PRIMARY KEY (stream_id, number, log_id)
) PARTITION BY RANGE (number);
CREATE INDEX audit_record_number ON audit_record USING brin (number) WITH (pages_per_range = 16);

CREATE TABLE audit_log (
  id integer PRIMARY KEY,
  -- The name that checkpoints sign.
  origin text NOT NULL UNIQUE,
  -- One process at a time. A log whose process crashed stays as it is; what it had not appended, others adopt.
  is_held boolean NOT NULL,
  -- Changes whenever a process takes the log, so that a statement which comes late changes nothing.
  epoch integer NOT NULL,
  size bigint NOT NULL DEFAULT 0,
  -- The leaves before it are in archive files, and no longer here.
  first_kept_index bigint NOT NULL DEFAULT 0,
  last_number bigint NOT NULL DEFAULT 0,
  -- The hashes of the tiles at the right edge of the tree, which are not full yet; lower levels first.
  edge bytea[] NOT NULL DEFAULT '{}',
  -- The latest signed checkpoint.
  note text,
  checkpoint_at timestamptz
);

-- Leaves in the order of their indexes, as many as one checkpoint added.
CREATE TABLE audit_batch (
  log_id integer NOT NULL REFERENCES audit_log,
  first_index bigint NOT NULL,
  at timestamptz NOT NULL,
  note text NOT NULL,
  numbers bigint[] NOT NULL,
  -- For each leaf the index of the one before it in its stream, in this log.
  previous bigint[] NOT NULL,
  -- The logs of the nodes that wrote the records; null if all are of this log.
  writers integer[],
  PRIMARY KEY (log_id, first_index)
);
CREATE INDEX audit_batch_at ON audit_batch USING brin (at) WITH (pages_per_range = 16);

CREATE TABLE audit_tile (
  log_id integer NOT NULL REFERENCES audit_log,
  level integer NOT NULL,
  index bigint NOT NULL,
  hashes bytea NOT NULL,
  PRIMARY KEY (log_id, level, index)
);

-- Where a stream ends in each log, and how many of its leaves there are not archived.
CREATE TABLE audit_stream (
  log_id integer NOT NULL REFERENCES audit_log,
  stream_id uuid NOT NULL,
  account_id uuid NOT NULL,
  last_index bigint NOT NULL,
  records bigint NOT NULL,
  PRIMARY KEY (stream_id, log_id)
);
CREATE INDEX audit_stream_account ON audit_stream (account_id);

-- Months whose records were moved to a file by `keep audit archive`, with the hash of the file.
CREATE TABLE audit_archive (
  month text PRIMARY KEY,
  records bigint NOT NULL,
  sha256 bytea NOT NULL,
  archived_at timestamptz NOT NULL DEFAULT now()
);

-- Up to this number every record is a leaf of a log, or was reported.
CREATE TABLE audit_adoption (is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only), adopted_until bigint NOT NULL);
INSERT INTO audit_adoption (adopted_until) VALUES ((extract(epoch FROM now()) * 1000000)::bigint);

ALTER TABLE account ADD COLUMN audit_erased_at timestamptz;
CREATE INDEX account_to_erase ON account (account_id) WHERE status = 'deleted' AND audit_erased_at IS NULL;
CREATE POLICY erasure ON account FOR SELECT TO keep_maintenance USING (true);
GRANT SELECT (account_id, status, audit_erased_at) ON account TO keep_maintenance;

-- Partitions of the current month and the next ones. Attaching, unlike creating, does not wait for readers.
CREATE FUNCTION create_audit_partitions(months integer) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
  month timestamp;
  name text;
  lower bigint;
  upper bigint;
BEGIN
  PERFORM pg_advisory_xact_lock(4711300828);
  FOR ahead IN 0 .. least(months, 12) LOOP
    month := date_trunc('month', clock_timestamp() AT TIME ZONE 'UTC') + make_interval(months => ahead);
    name := 'audit_record_' || to_char(month, 'YYYY_MM');
    CONTINUE WHEN to_regclass('public.' || name) IS NOT NULL;
    lower := (extract(epoch FROM month) * 1000000)::bigint;
    upper := (extract(epoch FROM month + interval '1 month') * 1000000)::bigint;
    EXECUTE format('CREATE TABLE public.%I (LIKE public.audit_record INCLUDING DEFAULTS)', name);
    EXECUTE format('ALTER TABLE public.audit_record ATTACH PARTITION public.%I FOR VALUES FROM (%s) TO (%s)',
      name, lower, upper);
  END LOOP;
END $$;
SELECT create_audit_partitions(2);

-- Takes a log for a process: its own one again, else one that was released, else a new one.
CREATE FUNCTION hold_audit_log(origin_prefix text, own_log integer, own_epoch integer)
RETURNS TABLE (id integer, origin text, epoch integer, size bigint, last_number bigint, edge bytea[], clock bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
  held audit_log;
BEGIN
  UPDATE audit_log AS log SET is_held = true, epoch = log.epoch + 1
    WHERE log.id = own_log AND log.is_held AND log.epoch = own_epoch
    RETURNING * INTO held;
  IF NOT FOUND THEN
    UPDATE audit_log AS log SET is_held = true, epoch = log.epoch + 1
      WHERE log.id = (
        SELECT released.id FROM audit_log AS released
        WHERE NOT released.is_held AND starts_with(released.origin, origin_prefix)
        ORDER BY released.id LIMIT 1 FOR UPDATE SKIP LOCKED)
      RETURNING * INTO held;
  END IF;
  IF NOT FOUND THEN
    PERFORM pg_advisory_xact_lock(4711300829);
    INSERT INTO audit_log (id, origin, is_held, epoch)
      SELECT coalesce(max(log.id), 0) + 1, origin_prefix || (coalesce(max(log.id), 0) + 1)::text, true, 1
      FROM audit_log AS log
      RETURNING * INTO held;
  END IF;
  RETURN QUERY SELECT held.id, held.origin, held.epoch, held.size, held.last_number, held.edge,
    (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;
END $$;

-- Appends leaves to a log with the checkpoint that covers them, and counts their records by day. False when the process no
-- longer holds the log at this size, and then nothing is stored.
CREATE FUNCTION append_audit_leaves(log integer, of_epoch integer, checkpoint jsonb, leaves jsonb) RETURNS boolean
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
    ON CONFLICT (stream_id, log_id)
    DO UPDATE SET last_index = excluded.last_index, records = audit_stream.records + excluded.records;
  INSERT INTO audit_count (account_id, chain_id, day, outcome, count)
    SELECT counted.account, counted.stream, counted.day, counted.outcome, counted.added
    FROM jsonb_to_recordset(leaves -> 'counts')
      AS counted (account uuid, stream uuid, day date, outcome text, added bigint)
    ON CONFLICT (account_id, chain_id, day, outcome) DO UPDATE SET count = audit_count.count + excluded.count;
  RETURN true;
END $$;

CREATE FUNCTION release_audit_log(log integer, of_epoch integer) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
  UPDATE audit_log SET is_held = false WHERE id = log AND epoch = of_epoch;
$$;

CREATE FUNCTION find_stream_ends(log integer, streams uuid[]) RETURNS TABLE (stream_id uuid, last_index bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
  SELECT ended.stream_id, ended.last_index FROM audit_stream AS ended
  WHERE ended.log_id = log AND ended.stream_id = ANY (streams);
$$;

CREATE FUNCTION read_audit_leaf(log integer, at_index bigint)
RETURNS TABLE (index bigint, number bigint, previous bigint, writer integer)
LANGUAGE sql STABLE SET search_path = pg_catalog, public, pg_temp AS $$
  SELECT at_index, batch.numbers[place.number], batch.previous[place.number],
    coalesce(batch.writers[place.number], batch.log_id)
  FROM (SELECT * FROM audit_batch WHERE log_id = log AND first_index <= at_index ORDER BY first_index DESC LIMIT 1) AS batch
  CROSS JOIN LATERAL (SELECT (at_index - batch.first_index + 1)::integer AS number) AS place;
$$;

-- Every record up to this number is a leaf now.
CREATE FUNCTION set_adopted_until(number bigint) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
  UPDATE audit_adoption SET adopted_until = greatest(adopted_until, number);
$$;

-- Records of all accounts without their bodies, for verification and adoption.
CREATE VIEW audit_record_hash AS
  SELECT stream_id, number, log_id, account_id, outcome, subject_id, revision, mac, body IS NULL AS is_erased,
    substring(body FROM '"type":"([a-z-]+)"') AS event_type,
    CASE WHEN strpos(body, '"type":"chain-carried-over"') > 0
      THEN substring(body FROM '"hash":"([0-9a-f]{64})"') END AS chain_end,
    coalesce(sha256(convert_to(body, 'UTF8')), body_hash) AS body_hash
  FROM audit_record;

ALTER TABLE audit_record ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_account ON audit_record FOR SELECT TO keep_application
  USING (account_id = (nullif(current_setting('keep.account_id', true), ''))::uuid);
-- One statement inserts the records of several accounts. What an account did not do has no valid MAC.
CREATE POLICY append ON audit_record FOR INSERT TO keep_application WITH CHECK (true);
ALTER TABLE audit_stream ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_account ON audit_stream FOR SELECT TO keep_application
  USING (account_id = (nullif(current_setting('keep.account_id', true), ''))::uuid);
-- Counted for all accounts at once, by the owner of the function.
ALTER TABLE audit_count NO FORCE ROW LEVEL SECURITY;

GRANT SELECT, INSERT ON audit_record TO keep_application;
GRANT SELECT ON audit_log, audit_batch, audit_tile, audit_stream, audit_adoption TO keep_application;
GRANT SELECT ON audit_log, audit_batch, audit_tile, audit_stream, audit_archive, audit_record_hash TO keep_maintenance;
CREATE POLICY verification ON audit_stream FOR SELECT TO keep_maintenance USING (true);
REVOKE EXECUTE ON FUNCTION create_audit_partitions, hold_audit_log, append_audit_leaves, release_audit_log,
  find_stream_ends, read_audit_leaf, set_adopted_until FROM PUBLIC;
GRANT EXECUTE ON FUNCTION create_audit_partitions, hold_audit_log, append_audit_leaves, release_audit_log,
  find_stream_ends, read_audit_leaf, set_adopted_until TO keep_application;

-- The chains of earlier versions end here. Their last links become records of the log, and they stay as they are.
DROP FUNCTION append_audit, record_checkpoint, erase_audit_bodies;
ALTER TABLE audit_chain ADD COLUMN is_carried_over boolean NOT NULL DEFAULT false;
CREATE INDEX audit_chain_left ON audit_chain (id) WHERE NOT is_carried_over;
DROP INDEX audit_chain_unchecked;
-- The end of a chain that is not in the log yet, which from then on counts as carried over.
CREATE FUNCTION carry_over_chain(chain uuid) RETURNS TABLE (seq bigint, hash bytea)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
  UPDATE audit_chain AS ended SET is_carried_over = true
  WHERE ended.account_id = nullif(current_setting('keep.account_id', true), '')::uuid AND ended.id = chain
    AND NOT ended.is_carried_over
  RETURNING ended.seq, ended.hash;
$$;
REVOKE EXECUTE ON FUNCTION carry_over_chain FROM PUBLIC;
GRANT EXECUTE ON FUNCTION carry_over_chain TO keep_application;
