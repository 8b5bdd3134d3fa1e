import type { Random } from "../../test/seeded-random.ts";

/** A superuser's change to a chain with `last` records, the last of which has a trusted checkpoint. */
export type RowTamper = (
  last: number,
  random: Random,
) => { readonly statements: readonly string[]; readonly firstBad: number };

const events = "UPDATE audit_event SET";
const row = (seq: number): string => `WHERE chain_id = $1 AND seq = ${seq}`;

/** Statements take the chain's id as `$1`. */
export const rowTampers: Readonly<Record<string, RowTamper>> = {
  body: (last, random) => {
    const seq = random.between(1, last);
    return { statements: [`${events} body = replace(body, '"by":', '"of":') ${row(seq)}`], firstBad: seq };
  },
  "body as invalid JSON": (last, random) => {
    const seq = random.between(1, last);
    return { statements: [`${events} body = body || '}' ${row(seq)}`], firstBad: seq };
  },
  time: (last, random) => {
    const seq = random.between(1, last);
    const minutes = random.pick([-90, -1, 1, 90]);
    return { statements: [`${events} at = at + interval '${minutes} minutes' ${row(seq)}`], firstBad: seq };
  },
  "one hash": (last, random) => {
    const seq = random.between(1, last);
    const column = random.pick(["previous", "body_hash", "hash"]);
    return { statements: [`${events} ${column} = sha256(${column}) ${row(seq)}`], firstBad: seq };
  },
  subject: (last, random) => {
    const seq = random.between(1, last);
    return { statements: [`${events} subject_id = $1, revision = 1000000 + seq ${row(seq)}`], firstBad: seq };
  },
  "deleted record": (last, random) => {
    const seq = random.between(1, last);
    return { statements: [`DELETE FROM audit_event ${row(seq)}`], firstBad: seq };
  },
  "swapped records": (last, random) => {
    const first = random.between(1, last - 1);
    const second = random.between(first + 1, last);
    const statements = [
      `${events} seq = 1000000 ${row(first)}`,
      `${events} seq = ${first} ${row(second)}`,
      `${events} seq = ${second} ${row(1_000_000)}`,
    ];
    return { statements, firstBad: first };
  },
  "truncated tail": (last, random) => {
    const kept = random.between(1, last - 1);
    return {
      statements: [`DELETE FROM audit_event WHERE chain_id = $1 AND seq > ${kept}`],
      firstBad: kept + 1,
    };
  },
  "truncated tail with matching head and without later checkpoints": (last, random) => {
    const kept = random.between(1, last - 1);
    const statements = [
      `DELETE FROM audit_event WHERE chain_id = $1 AND seq > ${kept}`,
      `DELETE FROM audit_checkpoint WHERE chain_id = $1 AND seq > ${kept}`,
      `UPDATE audit_chain SET seq = ${kept}, hash = (SELECT hash FROM audit_event ${row(kept)}) WHERE id = $1`,
    ];
    return { statements, firstBad: kept + 1 };
  },
  head: (last) => ({
    statements: ["UPDATE audit_chain SET hash = sha256(hash) WHERE id = $1"],
    firstBad: last,
  }),
};
