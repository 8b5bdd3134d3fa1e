/**
 * @module
 * Ways to tamper with an audit log: in an export, or in the database as a superuser. Each returns what verification must
 * name.
 * Imported by tests only.
 */
import { createHash } from "node:crypto";
import { canonicalJson, type Json } from "@hearth-and-keep/audit-chain";
import {
  type ExportedRecord,
  readStreamLine,
  type StreamExportLine,
  writeStreamLine,
} from "@hearth-and-keep/audit-records";
import type { Random } from "../../test/seeded-random.ts";

type Tampered = {
  readonly lines: readonly string[];
  /** The number of the first bad line. */
  readonly firstBad: number;
  /** The record that must be named, if the line is one that can be read. */
  readonly record?: string;
};

type RecordLine = Extract<StreamExportLine, { readonly type: "record" }>;
type LogLine = Extract<StreamExportLine, { readonly type: "log" }>;

export type ParsedExport = { readonly lines: readonly StreamExportLine[] };

export function parseExport(text: string): ParsedExport {
  return { lines: text.split("\n").flatMap((line) => readStreamLine(line) ?? []) };
}

/** The checkpoints of an export, as kept outside. */
export function notesOf({ lines }: ParsedExport): readonly string[] {
  return lines.flatMap((line) => (line.type === "log" ? [line.note] : []));
}

export type Tamper = (parsed: ParsedExport, random: Random) => Tampered;

/** The lines of a file. */
export function write(lines: readonly StreamExportLine[]): readonly string[] {
  return lines.map((line) => writeStreamLine(line).trimEnd());
}

const recordsOf = ({ lines }: ParsedExport): readonly RecordLine[] =>
  lines.filter((line) => line.type === "record");
const logsOf = ({ lines }: ParsedExport): readonly LogLine[] => lines.filter((line) => line.type === "log");
const nameOf = ({ log, number }: ExportedRecord): string => `${log}/${number}`;
const lineOf = ({ lines }: ParsedExport, line: StreamExportLine): number => lines.indexOf(line) + 1;
const randomHash = (random: Random): Buffer =>
  createHash("sha256")
    .update(String(random.between(0, 1e9)))
    .digest();
const hashOf = (body: Json): string => createHash("sha256").update(canonicalJson(body)).digest("hex");
const forgeBody = (random: Random): Json => ({
  type: "value-read",
  path: `/forged/${random.between(0, 1e9)}`,
});
const countAgain = (lines: readonly StreamExportLine[]): readonly StreamExportLine[] =>
  lines.map((line) =>
    line.type === "end" ? { ...line, records: lines.filter(({ type }) => type === "record").length } : line,
  );
/** Records that another one of the same log follows. */
const followedOf = ({ lines }: ParsedExport): readonly RecordLine[] =>
  lines.flatMap((line, place) =>
    line.type === "record" && lines[place + 1]?.type === "record" ? [line] : [],
  );

/** Changes members of one record, which must then be named. */
const changed =
  (change: (record: RecordLine, random: Random) => Partial<ExportedRecord>): Tamper =>
  (parsed, random) => {
    const record = random.pick(recordsOf(parsed));
    const replaced = { ...record, ...change(record, random) };
    return {
      lines: write(parsed.lines.map((line) => (line === record ? replaced : line))),
      firstBad: lineOf(parsed, record),
      record: nameOf(replaced),
    };
  };

/** Changes that leave the number and the order of lines as they are. */
const recordChanges: Readonly<Record<string, Tamper>> = {
  body: changed((_record, random) => ({ body: forgeBody(random) })),
  "body with its hash": changed((_record, random) => {
    const body = forgeBody(random);
    return { body, body_hash: hashOf(body) };
  }),
  "hash of the body": changed((_record, random) => ({ body_hash: randomHash(random).toString("hex") })),
  outcome: changed(({ outcome }, random) => ({
    outcome: random.pick(["read", "changed", "denied", "signed-in"].filter((other) => other !== outcome)),
  })),
  subject: changed(({ subject_id, revision }, random) => ({
    subject_id: subject_id === null ? "00000000-0000-4000-8000-000000000000" : null,
    revision: (revision ?? 0) + random.between(1, 9),
  })),
  revision: changed(({ revision }, random) => ({ revision: (revision ?? 0) + random.between(1, 9) })),
  time: changed(({ number }, random) => ({ number: number + random.between(-1000, -1) })),
  "node that wrote it": changed(({ log }, random) => ({ log: log + random.between(1, 9) })),
  index: changed(({ index }, random) => ({ index: index + random.between(1, 3) })),
  "index beyond the log": changed(({ index }, random) => ({ index: index + random.between(1e6, 1e9) })),
  "link to the record before": changed(({ previous }, random) => ({
    previous: previous === null ? 0 : random.pick([null, previous + 1, previous - 1].filter(isPlace)),
  })),
  "one hash of the proof": changed(({ proof }, random) => {
    const place = random.between(0, proof.length - 1);
    return { proof: proof.with(place, randomHash(random).toString("base64")) };
  }),
  "shorter proof": changed(({ proof }) => ({ proof: proof.slice(0, -1) })),
  "longer proof": changed(({ proof }, random) => ({
    proof: [...proof, randomHash(random).toString("base64")],
  })),
  "one character": (parsed, random) => {
    const record = random.pick(recordsOf(parsed));
    const firstBad = lineOf(parsed, record);
    const text = writeStreamLine(record).trimEnd();
    const at = random.between(0, text.length - 1);
    const other = text[at] === "7" ? "8" : "7";
    return {
      lines: write(parsed.lines).with(firstBad - 1, text.slice(0, at) + other + text.slice(at + 1)),
      firstBad,
    };
  },
};

function isPlace(value: number | null): boolean {
  return value === null || value >= 0;
}

/** Added, removed or moved records, with a matching number of records at the end. */
const orderChanges: Readonly<Record<string, Tamper>> = {
  "deleted record": (parsed, random) => {
    const record = random.pick(followedOf(parsed));
    const firstBad = lineOf(parsed, record);
    const next = parsed.lines[firstBad];
    return {
      lines: write(countAgain(parsed.lines.filter((line) => line !== record))),
      firstBad,
      ...(next?.type === "record" ? { record: nameOf(next) } : {}),
    };
  },
  "deleted first record": (parsed, random) => {
    const log = random.pick(logsOf(parsed));
    const firstBad = lineOf(parsed, log) + 1;
    const next = parsed.lines[firstBad];
    return {
      lines: write(countAgain(parsed.lines.toSpliced(firstBad - 1, 1))),
      firstBad,
      ...(next?.type === "record" ? { record: nameOf(next) } : {}),
    };
  },
  "swapped records": (parsed, random) => {
    const one = random.pick(followedOf(parsed));
    const place = parsed.lines.indexOf(one);
    const rest = parsed.lines.slice(place + 1);
    const inLog = rest.slice(
      0,
      rest.findIndex(({ type }) => type !== "record"),
    );
    const other = random.pick(inLog);
    const lines = parsed.lines.map((line) => (line === one ? other : line === other ? one : line));
    return {
      lines: write(lines),
      firstBad: place + 1,
      ...(other.type === "record" ? { record: nameOf(other) } : {}),
    };
  },
  "repeated record": (parsed, random) => {
    const record = random.pick(recordsOf(parsed));
    const lines = parsed.lines.flatMap((line) => (line === record ? [line, line] : [line]));
    return { lines: write(countAgain(lines)), firstBad: lineOf(parsed, record) + 1, record: nameOf(record) };
  },
  "inserted record": (parsed, random) => {
    const record = random.pick(recordsOf(parsed));
    const body = forgeBody(random);
    const { index } = record;
    const forged = { ...record, number: record.number + 1, index: index + 1, previous: index, body };
    const inserted = { ...forged, body_hash: hashOf(body) };
    const lines = parsed.lines.flatMap((line) => (line === record ? [line, inserted] : [line]));
    return {
      lines: write(countAgain(lines)),
      firstBad: lineOf(parsed, record) + 1,
      record: nameOf(inserted),
    };
  },
  "record moved to another log": (parsed) => {
    const [, second] = logsOf(parsed);
    const [record] = recordsOf(parsed);
    if (second === undefined || record === undefined) throw new Error("The export needs records of two logs");
    const lines = parsed.lines.flatMap((line) => (line === second ? [line, record] : [line]));
    return { lines: write(countAgain(lines)), firstBad: lineOf(parsed, second) + 1, record: nameOf(record) };
  },
};

/** Changes of the lines that are not records. */
const frameChanges: Readonly<Record<string, Tamper>> = {
  "removed tail": (parsed, random) => {
    const end = parsed.lines.length - 1;
    const removed = random.between(1, Math.floor(followedOf(parsed).length / 3));
    return { lines: write(parsed.lines.toSpliced(end - removed, removed)), firstBad: end + 1 - removed };
  },
  "truncated file": (parsed, random) => {
    const kept = random.between(1, parsed.lines.length - 1);
    return { lines: write(parsed.lines.slice(0, kept)), firstBad: kept };
  },
  "another account": (parsed, random) => {
    const account = random.pick(accounts);
    return changeHeader(parsed, (header) => ({ ...header, account }));
  },
  "another stream": (parsed, random) => {
    const stream = random.pick(accounts);
    return changeHeader(parsed, (header) => ({ ...header, stream }));
  },
  "renamed log": (parsed, random) =>
    changeLog(parsed, random, (log) => ({ ...log, origin: `${log.origin}1` })),
  "checkpoint of another log": (parsed, random) =>
    changeLog(parsed, random, (log) => ({
      ...log,
      note: logsOf(parsed).find((other) => other !== log)?.note ?? "",
    })),
  "checkpoint with another root": (parsed, random) =>
    changeLog(parsed, random, (log) => {
      const [origin, size, , ...rest] = log.note.split("\n");
      return { ...log, note: [origin, size, randomHash(random).toString("base64"), ...rest].join("\n") };
    }),
  "the same log again": (parsed, random) => {
    const log = random.pick(logsOf(parsed));
    const end = parsed.lines.length - 1;
    return { lines: write(parsed.lines.toSpliced(end, 0, log)), firstBad: end + 1 };
  },
  "a line after the end": (parsed, random) => ({
    lines: write([...parsed.lines, random.pick(recordsOf(parsed))]),
    firstBad: parsed.lines.length + 1,
  }),
};

const accounts = ["00000000-0000-4000-8000-000000000000", "ffffffff-ffff-4fff-bfff-ffffffffffff"] as const;

/** The first record is then not the one that was logged. */
function changeHeader(
  parsed: ParsedExport,
  change: (header: Extract<StreamExportLine, { readonly type: "stream" }>) => StreamExportLine,
): Tampered {
  const [first] = recordsOf(parsed);
  if (first === undefined) throw new Error("The export has no record");
  const lines = parsed.lines.map((line) => (line.type === "stream" ? change(line) : line));
  return { lines: write(lines), firstBad: lineOf(parsed, first), record: nameOf(first) };
}

function changeLog(parsed: ParsedExport, random: Random, change: (log: LogLine) => LogLine): Tampered {
  const log = random.pick(logsOf(parsed));
  const lines = parsed.lines.map((line) => (line === log ? change(log) : line));
  return { lines: write(lines), firstBad: lineOf(parsed, log) };
}

/** Genuine or complete exports that are given for the one in question. */
export type OtherExports = {
  /** The same stream, earlier. */
  readonly earlier: ParsedExport;
  /** Another stream, at the same time. */
  readonly strangers: ParsedExport;
  /** The same stream with forged contents, signed by another key. */
  readonly forged: ParsedExport;
};

function replacements({ earlier, strangers, forged }: OtherExports): Readonly<Record<string, Tamper>> {
  return {
    "the log rolled back": () => ({ lines: write(earlier.lines), firstBad: 2 }),
    "an earlier checkpoint over the same records": (parsed) => {
      const [note = ""] = notesOf(earlier);
      const [log] = logsOf(parsed);
      const lines = parsed.lines.map((line) => (line === log ? { ...log, note } : line));
      return { lines: write(lines), firstBad: 2 };
    },
    "records of another stream": (parsed) => {
      const [header] = parsed.lines;
      return changeHeader(strangers, () => header ?? { type: "end", records: 0 });
    },
    "the whole log forged with another key": () => ({ lines: write(forged.lines), firstBad: 2 }),
  };
}

/** Assumes trusted keys, and trusted checkpoints of the same sizes as in the export. */
export function tampersOf(others: OtherExports): Readonly<Record<string, Tamper>> {
  return { ...recordChanges, ...orderChanges, ...frameChanges, ...replacements(others) };
}
