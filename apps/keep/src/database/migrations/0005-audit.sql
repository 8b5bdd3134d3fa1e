-- The audit log: one chain for each vault and one for each account. The application reads it and adds to it through
-- append_audit alone: no role that a request runs under can insert, change or delete a row.

CREATE TABLE audit_chain (
  account_id uuid NOT NULL REFERENCES account,
  -- The id of the vault, or of the account.
  id uuid NOT NULL,
  seq bigint NOT NULL DEFAULT 0,
  hash bytea NOT NULL CHECK (length(hash) = 32),
  at timestamptz NOT NULL,
  checkpoint_seq bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (account_id, id)
);
CREATE INDEX audit_chain_unchecked ON audit_chain (at) WHERE checkpoint_seq < seq;

CREATE TABLE audit_event (
  account_id uuid NOT NULL,
  chain_id uuid NOT NULL,
  seq bigint NOT NULL CHECK (seq >= 1),
  at timestamptz NOT NULL,
  previous bytea NOT NULL CHECK (length(previous) = 32),
  body_hash bytea NOT NULL CHECK (length(body_hash) = 32),
  hash bytea NOT NULL CHECK (length(hash) = 32),
  -- In canonical JSON (RFC 8785). Null once erased; the chain holds without it.
  body text,
  -- The secret that changed, and its revision since.
  subject_id uuid,
  revision bigint,
  -- Its chain is locked by the only function that writes here: a foreign key would look for it again for every row.
  PRIMARY KEY (account_id, chain_id, seq),
  CHECK ((subject_id IS NULL) = (revision IS NULL))
);
CREATE UNIQUE INDEX audit_event_revision ON audit_event (account_id, chain_id, subject_id, revision)
  WHERE subject_id IS NOT NULL;

CREATE TABLE audit_checkpoint (
  account_id uuid NOT NULL,
  chain_id uuid NOT NULL,
  seq bigint NOT NULL,
  hash bytea NOT NULL,
  at timestamptz NOT NULL,
  key_version integer NOT NULL,
  signature bytea NOT NULL,
  PRIMARY KEY (account_id, chain_id, seq)
);

CREATE TABLE audit_count (
  account_id uuid NOT NULL,
  chain_id uuid NOT NULL,
  day date NOT NULL,
  outcome text NOT NULL CHECK (outcome IN ('read', 'changed', 'denied', 'signed-in')),
  count bigint NOT NULL,
  PRIMARY KEY (account_id, chain_id, day, outcome)
);

-- Adds events to one chain of the account of this transaction, in the order given, and gives the last one's number.
-- The chain's row is locked until the transaction ends, so that the order of numbers is the order of commits.
-- hash = sha256("keep-audit/1" 00 chain seq at-in-microseconds previous body-hash subject revision)
CREATE FUNCTION append_audit(
  chain uuid, bodies text[], outcomes text[], subjects uuid[], revisions bigint[]
) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public AS $$
DECLARE
  owner uuid := nullif(current_setting('keep.account_id', true), '')::uuid;
  head audit_chain;
  moment timestamptz;
  beginning bytea;
  -- Every link's hash in order, the one before the first of them included.
  hashes bytea[];
  body_hashes bytea[];
BEGIN
  SELECT * INTO head FROM audit_chain WHERE account_id = owner AND id = chain FOR UPDATE;
  IF NOT FOUND THEN
    INSERT INTO audit_chain (account_id, id, hash, at)
      VALUES (owner, chain, sha256(convert_to('keep-audit/1', 'UTF8') || uuid_send(chain)), clock_timestamp())
      ON CONFLICT DO NOTHING;
    SELECT * INTO STRICT head FROM audit_chain WHERE account_id = owner AND id = chain FOR UPDATE;
  END IF;
  -- A clock that goes back does not take the order of the chain with it.
  moment := greatest(clock_timestamp(), head.at);
  beginning := convert_to('keep-audit/1', 'UTF8') || '\x00'::bytea || uuid_send(chain);
  hashes[0] := head.hash;
  FOR place IN 1 .. cardinality(bodies) LOOP
    body_hashes[place] := sha256(convert_to(bodies[place], 'UTF8'));
    hashes[place] := sha256(
      beginning || int8send(head.seq + place) || int8send((extract(epoch FROM moment) * 1000000)::bigint)
      || hashes[place - 1] || body_hashes[place]
      || uuid_send(coalesce(subjects[place], '00000000-0000-0000-0000-000000000000'))
      || int8send(coalesce(revisions[place], 0)));
  END LOOP;
  INSERT INTO audit_event (account_id, chain_id, seq, at, previous, body_hash, hash, body, subject_id, revision)
    SELECT owner, chain, head.seq + place, moment, hashes[place - 1], body_hashes[place], hashes[place],
           bodies[place], subjects[place], revisions[place]
    FROM generate_series(1, cardinality(bodies)) AS place;
  head.seq := head.seq + cardinality(bodies);
  head.hash := hashes[cardinality(bodies)];
  UPDATE audit_chain SET seq = head.seq, hash = head.hash, at = moment WHERE account_id = owner AND id = chain;
  INSERT INTO audit_count (account_id, chain_id, day, outcome, count)
    SELECT owner, chain, (moment AT TIME ZONE 'UTC')::date, outcome, count(*)
    FROM unnest(outcomes) AS outcome GROUP BY outcome
    ON CONFLICT (account_id, chain_id, day, outcome) DO UPDATE SET count = audit_count.count + excluded.count;
  RETURN head.seq;
END $$;

-- Records a signed checkpoint of the chain as it is or was; never one of a link that is not there.
CREATE FUNCTION record_checkpoint(chain uuid, at_seq bigint, of_hash bytea, key integer, signed bytea)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public AS $$
DECLARE
  owner uuid := nullif(current_setting('keep.account_id', true), '')::uuid;
BEGIN
  INSERT INTO audit_checkpoint (account_id, chain_id, seq, hash, at, key_version, signature)
    SELECT owner, chain, seq, hash, clock_timestamp(), key, signed FROM audit_event
    WHERE account_id = owner AND chain_id = chain AND seq = at_seq AND hash = of_hash
    ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN RETURN false; END IF;
  UPDATE audit_chain SET checkpoint_seq = greatest(checkpoint_seq, at_seq) WHERE account_id = owner AND id = chain;
  RETURN true;
END $$;

-- Forgets what the events of a deleted account say. Their hashes stay, so the chain still verifies.
CREATE FUNCTION erase_audit_bodies() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public AS $$
DECLARE
  owner uuid := nullif(current_setting('keep.account_id', true), '')::uuid;
BEGIN
  IF EXISTS (SELECT FROM account WHERE account_id = owner AND status = 'deleted') THEN
    UPDATE audit_event SET body = NULL WHERE account_id = owner;
  END IF;
END $$;
