import type { Random } from "../../test/seeded-random.ts";

/** What a superuser does to a chain of so many rows, the last of which has a checkpoint kept apart. */
export type RowTamper = (
  last: number,
  random: Random,
) => { readonly statements: readonly string[]; readonly firstBad: number };

const events = "UPDATE audit_event SET";
const row = (seq: number): string => `WHERE chain_id = $1 AND seq = ${seq}`;

/** Statements take the chain's id as `$1`. */
export const rowTampers: Readonly<Record<string, RowTamper>> = {
  "what it says": (last, random) => {
    const seq = random.between(1, last);
    return { statements: [`${events} body = replace(body, '"by":', '"of":') ${row(seq)}`], firstBad: seq };
  },
  "what it says, as no JSON": (last, random) => {
    const seq = random.between(1, last);
    return { statements: [`${events} body = body || '}' ${row(seq)}`], firstBad: seq };
  },
  "the time": (last, random) => {
    const seq = random.between(1, last);
    const minutes = random.pick([-90, -1, 1, 90]);
    return { statements: [`${events} at = at + interval '${minutes} minutes' ${row(seq)}`], firstBad: seq };
  },
  "one hash": (last, random) => {
    const seq = random.between(1, last);
    const column = random.pick(["previous", "body_hash", "hash"]);
    return { statements: [`${events} ${column} = sha256(${column}) ${row(seq)}`], firstBad: seq };
  },
  "the secret it is about": (last, random) => {
    const seq = random.between(1, last);
    return { statements: [`${events} subject_id = $1, revision = 1000000 + seq ${row(seq)}`], firstBad: seq };
  },
  "a row less": (last, random) => {
    const seq = random.between(1, last);
    return { statements: [`DELETE FROM audit_event ${row(seq)}`], firstBad: seq };
  },
  "two rows in each other's place": (last, random) => {
    const first = random.between(1, last - 1);
    const second = random.between(first + 1, last);
    const statements = [
      `${events} seq = 1000000 ${row(first)}`,
      `${events} seq = ${first} ${row(second)}`,
      `${events} seq = ${second} ${row(1_000_000)}`,
    ];
    return { statements, firstBad: first };
  },
  "the tail cut off": (last, random) => {
    const kept = random.between(1, last - 1);
    return {
      statements: [`DELETE FROM audit_event WHERE chain_id = $1 AND seq > ${kept}`],
      firstBad: kept + 1,
    };
  },
  "the tail cut off, the head put back, and what was signed of it removed": (last, random) => {
    const kept = random.between(1, last - 1);
    const statements = [
      `DELETE FROM audit_event WHERE chain_id = $1 AND seq > ${kept}`,
      `DELETE FROM audit_checkpoint WHERE chain_id = $1 AND seq > ${kept}`,
      `UPDATE audit_chain SET seq = ${kept}, hash = (SELECT hash FROM audit_event ${row(kept)}) WHERE id = $1`,
    ];
    return { statements, firstBad: kept + 1 };
  },
  "the head": (last) => ({
    statements: ["UPDATE audit_chain SET hash = sha256(hash) WHERE id = $1"],
    firstBad: last,
  }),
};
