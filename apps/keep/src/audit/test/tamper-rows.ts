import type { Random } from "../../test/seeded-random.ts";

/** A stream with records in one log, which has more than one full tile. */
export type TamperedStream = {
  readonly stream: string;
  /** The log that has the records. */
  readonly log: number;
  readonly origin: string;
  /** Numbers of its records in the log, oldest first. */
  readonly numbers: readonly number[];
  /** Another stream of the log, of another account. */
  readonly strangers: { readonly account: string; readonly stream: string };
};

/** A superuser's change, and what the verification of the database must then name. */
export type RowTamper = (
  tampered: TamperedStream,
  random: Random,
) => {
  readonly statements: readonly string[];
  /** Part of a finding. */
  readonly named: string;
  /** Whether an export of the stream must fail too. */
  readonly isInExport: boolean;
};

const oneOf = ({ numbers, log }: TamperedStream, random: Random): { number: number; name: string } => {
  const number = random.pick(numbers);
  return { number, name: `${log}/${number}` };
};
const flipBit = (column: string, bit: number): string =>
  `${column} = set_bit(${column}, ${bit}, 1 - get_bit(${column}, ${bit}))`;

/** Changes one record; a record that is then in another stream, or has another name, counts as removed. */
const record =
  (
    assign: (tampered: TamperedStream, random: Random) => string,
    finding = "does not match its leaf",
  ): RowTamper =>
  (tampered, random) => {
    const { number, name } = oneOf(tampered, random);
    const where = `stream_id = '${tampered.stream}' AND number = ${number}`;
    return {
      statements: [`UPDATE audit_record SET ${assign(tampered, random)} WHERE ${where}`],
      named: `record ${name} ${finding}`,
      isInExport: true,
    };
  };

const records: Readonly<Record<string, RowTamper>> = {
  body: record(() => `body = replace(body, '"by":', '"of":')`),
  "body as invalid JSON": record(() => "body = body || '}'"),
  outcome: record(() => "outcome = CASE outcome WHEN 'denied' THEN 'read' ELSE 'denied' END"),
  subject: record(({ strangers }) => `subject_id = '${strangers.stream}', revision = 1000000`),
  revision: record(() => "revision = coalesce(revision, 0) + 1"),
  account: record(({ strangers }) => `account_id = '${strangers.account}'`),
  stream: record(({ strangers }) => `stream_id = '${strangers.stream}'`),
  time: record((_tampered, random) => `number = number - ${random.between(1, 999)}`, "was removed"),
  "node that wrote it": record(() => "log_id = log_id + 1", "was removed"),
  "body removed": record(() => "body = NULL"),
  "body erased as after the deletion of the account": (tampered, random) => {
    const { number, name } = oneOf(tampered, random);
    const where = `stream_id = '${tampered.stream}' AND number = ${number}`;
    return {
      statements: [
        `UPDATE audit_record SET body_hash = sha256(convert_to(body, 'UTF8')), body = NULL WHERE ${where}`,
      ],
      named: `Record ${name} was erased, but its account`,
      isInExport: false,
    };
  },
  "deleted record": (tampered, random) => {
    const { number, name } = oneOf(tampered, random);
    const where = `stream_id = '${tampered.stream}' AND number = ${number}`;
    return {
      statements: [`DELETE FROM audit_record WHERE ${where}`],
      named: `record ${name} was removed`,
      isInExport: true,
    };
  },
  "bodies of two records swapped": (tampered, random) => {
    const { number, name } = oneOf(tampered, random);
    const other = random.pick(tampered.numbers.filter((each) => each !== number));
    const where = `stream_id = '${tampered.stream}' AND number IN (${number}, ${other})`;
    return {
      statements: [
        `WITH held AS (SELECT number, body FROM audit_record WHERE ${where}) UPDATE audit_record SET body = held.body FROM held WHERE audit_record.stream_id = '${tampered.stream}' AND audit_record.number IN (${number}, ${other}) AND held.number <> audit_record.number`,
      ],
      named: `record ${name} does not match its leaf`,
      isInExport: true,
    };
  },
  "deleted tail": ({ stream, numbers, log }, random) => {
    const first = random.pick(numbers.slice(1));
    return {
      statements: [`DELETE FROM audit_record WHERE stream_id = '${stream}' AND number >= ${first}`],
      named: `record ${log}/${first} was removed`,
      isInExport: true,
    };
  },
  "added record": (tampered, random) => {
    const { number } = oneOf(tampered, random);
    const days = random.between(1, 20) * 86_400_000_000;
    return {
      statements: [copyRecord(tampered.stream, number, { number: `number + ${days}` })],
      named: `Record ${tampered.log}/${number + days} of ${tampered.stream} is in no log`,
      isInExport: false,
    };
  },
  "record copied to another stream under the same number": (tampered, random) => {
    const { number, name } = oneOf(tampered, random);
    const { account, stream } = tampered.strangers;
    return {
      statements: [
        copyRecord(tampered.stream, number, { stream_id: `'${stream}'`, account_id: `'${account}'` }),
      ],
      named: `record ${name} of ${stream} was added`,
      isInExport: false,
    };
  },
};

const recordColumns = [
  "stream_id",
  "number",
  "log_id",
  "account_id",
  "outcome",
  "subject_id",
  "revision",
  "body",
  "body_hash",
  "mac",
] as const;

/** A copy of a record with other columns. */
function copyRecord(
  stream: string,
  number: number,
  replaced: Partial<Record<(typeof recordColumns)[number], string>>,
): string {
  const values = recordColumns.map((column) => replaced[column] ?? column);
  return `INSERT INTO audit_record (${recordColumns.join(", ")}) SELECT ${values.join(", ")} FROM audit_record WHERE stream_id = '${stream}' AND number = ${number}`;
}

const batchOf = ({ log }: TamperedStream, number: number): string =>
  `log_id = ${log} AND ${number} = ANY (numbers)`;

const batches: Readonly<Record<string, RowTamper>> = {
  "batch deleted": (tampered, random) => {
    const { number } = oneOf(tampered, random);
    return {
      statements: [`DELETE FROM audit_batch WHERE ${batchOf(tampered, number)}`],
      named: `Log ${tampered.origin}: `,
      isInExport: true,
    };
  },
  "record replaced in a batch": (tampered, random) => {
    const { number } = oneOf(tampered, random);
    const other = random.pick(tampered.numbers.filter((each) => each !== number));
    return {
      statements: [
        `UPDATE audit_batch SET numbers = array_replace(numbers, ${number}, ${other}) WHERE ${batchOf(tampered, number)}`,
      ],
      named: `record ${tampered.log}/${other} does not match its leaf`,
      isInExport: true,
    };
  },
  "link to the record before": (tampered, random) => {
    const number = random.pick(tampered.numbers.slice(1));
    const place = `array_position(numbers, ${number})`;
    return {
      statements: [
        `UPDATE audit_batch SET previous[${place}] = previous[${place}] - 1 WHERE ${batchOf(tampered, number)}`,
      ],
      named: `record ${tampered.log}/${number} does not match its leaf`,
      isInExport: true,
    };
  },
  "writers of a batch": (tampered, random) => {
    const { number } = oneOf(tampered, random);
    return {
      statements: [
        `UPDATE audit_batch SET writers = array_fill(log_id + 1, ARRAY[cardinality(numbers)]) WHERE ${batchOf(tampered, number)}`,
      ],
      named: `record ${tampered.log + 1}/${number} was removed`,
      isInExport: true,
    };
  },
  "checkpoint of a batch": (tampered, random) => {
    const { number } = oneOf(tampered, random);
    return {
      statements: [
        `UPDATE audit_batch SET note = overlay(note placing ${otherCharacter} from length(note) - 9) WHERE ${batchOf(tampered, number)}`,
      ],
      named: "is not signed by a known key",
      isInExport: false,
    };
  },
  "batch added": (tampered, random) => {
    const { number } = oneOf(tampered, random);
    return {
      statements: [
        `INSERT INTO audit_batch (log_id, first_index, at, note, numbers, previous) SELECT log_id, first_index + 1, at, note, numbers, previous FROM audit_batch WHERE ${batchOf(tampered, number)} AND cardinality(numbers) > 1`,
      ],
      named: "was added",
      isInExport: false,
    };
  },
  "batch emptied": (tampered, random) => {
    const { number } = oneOf(tampered, random);
    return {
      statements: [
        `UPDATE audit_batch SET numbers = '{}', previous = '{}' WHERE ${batchOf(tampered, number)}`,
      ],
      named: "is empty",
      isInExport: true,
    };
  },
  "batch moved": (tampered, random) => {
    const { number } = oneOf(tampered, random);
    return {
      statements: [
        `UPDATE audit_batch SET first_index = first_index + 1000000 WHERE ${batchOf(tampered, number)}`,
      ],
      named: `Log ${tampered.origin}: `,
      isInExport: true,
    };
  },
};

const ofLog = (
  createStatement: (tampered: TamperedStream, random: Random) => string,
  named: string,
  isInExport = false,
): RowTamper => {
  return (tampered, random) => ({ statements: [createStatement(tampered, random)], named, isInExport });
};

const trees: Readonly<Record<string, RowTamper>> = {
  "tile changed": ofLog(
    ({ log }, random) =>
      `UPDATE audit_tile SET ${flipBit("hashes", random.between(0, 65_535))} WHERE log_id = ${log} AND level = 0 AND index = 0`,
    "does not match its leaf: it was changed",
    true,
  ),
  "tile deleted": ofLog(
    ({ log }) => `DELETE FROM audit_tile WHERE log_id = ${log} AND index = 0`,
    "tile 0/0 is missing",
    true,
  ),
  "tile added": ofLog(
    ({ log }, random) =>
      `INSERT INTO audit_tile (log_id, level, index, hashes) SELECT log_id, level, ${random.between(1000, 9999)}, hashes FROM audit_tile WHERE log_id = ${log} AND index = 0`,
    "tiles were added to its tree",
  ),
  "edge of the tree": ofLog(
    ({ log }) => `UPDATE audit_log SET edge[2] = sha256(edge[2]) WHERE id = ${log}`,
    "the hashes at the edge of its tree were changed",
  ),
  "size of the log": ofLog(
    ({ log }, random) => `UPDATE audit_log SET size = size + ${random.pick([-1, 1])} WHERE id = ${log}`,
    "its size says",
    true,
  ),
  "checkpoint of the log": ofLog(
    ({ log }) =>
      `UPDATE audit_log SET note = (SELECT note FROM audit_batch WHERE log_id = ${log} ORDER BY first_index LIMIT 1) WHERE id = ${log}`,
    "its latest checkpoint is not that of its last records",
    true,
  ),
  "checkpoint removed": ofLog(
    ({ log }) => `UPDATE audit_log SET note = NULL WHERE id = ${log}`,
    "its latest checkpoint is not that of its last records",
    true,
  ),
  "log renamed": ofLog(
    ({ log }) => `UPDATE audit_log SET origin = origin || '0' WHERE id = ${log}`,
    "is missing: a trusted checkpoint refers to it",
    true,
  ),
  "log deleted": (tampered) => ({
    statements: ["audit_batch", "audit_tile", "audit_stream"]
      .map((table) => `DELETE FROM ${table} WHERE log_id = ${tampered.log}`)
      .concat(`DELETE FROM audit_log WHERE id = ${tampered.log}`),
    named: `Log ${tampered.origin} is missing`,
    isInExport: false,
  }),
  "all tables of the log rolled back": (tampered) => ({
    statements: [
      `DELETE FROM audit_record WHERE log_id = ${tampered.log}`,
      `INSERT INTO audit_record SELECT * FROM earlier_audit_record WHERE log_id = ${tampered.log}`,
      ...["audit_batch", "audit_tile", "audit_stream"].flatMap((table) => [
        `DELETE FROM ${table} WHERE log_id = ${tampered.log}`,
        `INSERT INTO ${table} SELECT * FROM earlier_${table} WHERE log_id = ${tampered.log}`,
      ]),
      `DELETE FROM audit_log WHERE id = ${tampered.log}`,
      `INSERT INTO audit_log SELECT * FROM earlier_audit_log WHERE id = ${tampered.log}`,
    ],
    named: "it was rolled back or cut",
    isInExport: true,
  }),
};

const ofStream = (assign: string): RowTamper => {
  return ({ stream, log }) => ({
    statements: [`UPDATE audit_stream SET ${assign} WHERE stream_id = '${stream}' AND log_id = ${log}`],
    named: `the end of stream ${stream} was changed`,
    isInExport: false,
  });
};

const streams: Readonly<Record<string, RowTamper>> = {
  "end of the stream moved back": ({ stream, log, numbers }) => ({
    statements: [
      `UPDATE audit_stream SET last_index = (SELECT first_index + array_position(numbers, ${numbers.at(-2)}) - 1 FROM audit_batch WHERE log_id = ${log} AND ${numbers.at(-2)} = ANY (numbers)), records = records - 1 WHERE stream_id = '${stream}' AND log_id = ${log}`,
    ],
    named: `the end of stream ${stream} was changed`,
    // Nothing refers to the newest record of a stream.
    isInExport: false,
  }),
  "number of records": ofStream("records = records + 1"),
  "account of the stream": ({ stream, log, strangers }) => ({
    statements: [
      `UPDATE audit_stream SET account_id = '${strangers.account}' WHERE stream_id = '${stream}' AND log_id = ${log}`,
    ],
    named: `the end of stream ${stream} was changed`,
    isInExport: false,
  }),
  "end of the stream removed": ({ stream, log }) => ({
    statements: [`DELETE FROM audit_stream WHERE stream_id = '${stream}' AND log_id = ${log}`],
    named: `the end of stream ${stream} was removed`,
    isInExport: false,
  }),
  "end of a stream added": ({ log }) => ({
    statements: [
      `INSERT INTO audit_stream (log_id, stream_id, account_id, last_index, records) VALUES (${log}, '${addedStream}', '${addedStream}', 0, 1)`,
    ],
    named: `the end of stream ${addedStream} was changed`,
    isInExport: false,
  }),
};

const addedStream = "00000000-0000-4000-8000-000000000000";

/** Of the note's signature; a character that is already the new one would leave it as it is. */
const otherCharacter = "CASE substr(note, length(note) - 9, 1) WHEN 'x' THEN 'y' ELSE 'x' END";

export const rowTampers: Readonly<Record<string, RowTamper>> = {
  ...records,
  ...batches,
  ...trees,
  ...streams,
};
