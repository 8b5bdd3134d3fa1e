import { type CheckpointKey, canonicalJson } from "@hearth-and-keep/audit-chain";
import { includesKey, recordText, timestampOf } from "@hearth-and-keep/audit-records";
import { TileBuilder, type VerifierKey, verifyCheckpoint } from "@hearth-and-keep/transparency-log";
import { hashRecordLeaf, hashText, sha256 } from "../bytes.ts";
import { streamName } from "../stream-name.ts";
import { readTrustedNotes, type TrustedNote, verifierKeys } from "../verify/trusted-notes.ts";
import {
  type ArchivedLog,
  type ArchivedRecord,
  type ArchiveHeader,
  type ArchiveLine,
  readArchiveLine,
} from "./archive-line.ts";

export type ArchiveTrust = {
  /** Keys stored separately; without them the archive's own keys are trusted. */
  readonly keys?: readonly CheckpointKey[] | undefined;
  /** Signed notes stored separately. */
  readonly trustedNotes?: readonly string[] | undefined;
};

/** The part of a log that an archive has: leaves from `first` to the end of a tree of this size. */
export type ArchivedPart = {
  readonly origin: string;
  readonly first: number;
  /** Root of the tree before the first leaf. */
  readonly firstRoot: Uint8Array;
  readonly size: number;
  readonly root: Uint8Array;
};

export type ArchiveVerification =
  | {
      readonly isValid: true;
      readonly month: string;
      readonly records: number;
      readonly checkpoints: number;
      /** Trusted checkpoints that were compared with the archive. */
      readonly trusted: number;
      readonly logs: readonly ArchivedPart[];
    }
  | { readonly isValid: false; readonly line: number; readonly reason: string };

/** Verifies an archive without a database, up to its first invalid line. */
export async function verifyArchive(
  lines: AsyncIterable<string>,
  trust: ArchiveTrust,
): Promise<ArchiveVerification> {
  let line = 0;
  const state: ArchiveState = {
    month: undefined,
    keys: [],
    trusted: new Map(),
    logs: [],
    records: 0,
    earliest: Number.MAX_SAFE_INTEGER,
    checkpoints: 0,
    compared: 0,
    isComplete: false,
  };
  try {
    for await (const text of lines) {
      line += 1;
      const parsed = readArchiveLine(text);
      if (parsed === undefined) throw new InvalidArchive("not a valid line of an archive");
      if (state.isComplete) throw new InvalidArchive("unexpected line after the end of the archive");
      await verifyLine(state, parsed, trust);
    }
    if (!state.isComplete || state.month === undefined) throw new InvalidArchive("the archive is truncated");
  } catch (error) {
    if (!(error instanceof InvalidArchive)) throw error;
    return { isValid: false, line, reason: error.message };
  }
  const { month, records, checkpoints, compared, logs } = state;
  const parts = logs.map(({ origin, first, firstRoot, size, root }) => ({
    origin,
    first,
    firstRoot,
    size,
    root: root ?? firstRoot,
  }));
  return { isValid: true, month, records, checkpoints, trusted: compared, logs: parts };
}

class InvalidArchive extends Error {
  override readonly name = "InvalidArchive";
}

/** Everything that was read is verified, except the leaves that no checkpoint covers yet. */
type ArchiveState = {
  month: string | undefined;
  keys: readonly CheckpointKey[];
  /** By origin and size. */
  trusted: ReadonlyMap<string, readonly TrustedNote[]>;
  /** The last one is the log of the next record. */
  readonly logs: LogState[];
  records: number;
  /** The lowest number of a record. */
  earliest: number;
  checkpoints: number;
  compared: number;
  isComplete: boolean;
};

type LogState = Pick<ArchivedLog, "origin" | "first" | "size"> & {
  readonly keys: readonly VerifierKey[];
  readonly builder: TileBuilder;
  readonly firstRoot: Uint8Array;
  /** Root after the last record; until then undefined. */
  root: Uint8Array | undefined;
  /** Size of the last checkpoint. */
  covered: number;
  /** Index of the last leaf of a stream, by `streamName`. */
  readonly ends: Map<string, number>;
};

async function verifyLine(state: ArchiveState, line: ArchiveLine, trust: ArchiveTrust): Promise<void> {
  if ((state.month === undefined) !== (line.type === "archive"))
    throw new InvalidArchive(
      state.month === undefined ? "not an archive of audit records" : "another archive begins here",
    );
  switch (line.type) {
    case "archive":
      return begin(state, line, trust);
    case "log":
      return beginLog(state, line);
    case "record":
      return addRecord(state, line);
    case "leaf":
      return addLeaf(state, line.hash);
    case "checkpoint":
      return verifyNote(state, line.note);
    case "end":
      return verifyEnd(state, line.records);
  }
}

async function begin(
  state: ArchiveState,
  { month, keys }: ArchiveHeader,
  trust: ArchiveTrust,
): Promise<void> {
  state.month = month;
  // Only keys that the archive lists, so that a change of its list is found, too.
  state.keys = trust.keys === undefined ? keys : trust.keys.filter((key) => includesKey(keys, key));
  const notes = await readTrustedNotes(trust.trustedNotes ?? [], trust.keys ?? keys, (finding) => {
    throw new InvalidArchive(finding);
  });
  state.trusted = Map.groupBy(notes, ({ origin, size }) => `${origin} ${size}`);
}

async function beginLog(state: ArchiveState, line: ArchivedLog): Promise<void> {
  verifyCovered(state);
  const { origin, first, size, edge } = line;
  if (state.logs.some((log) => log.origin === origin)) throw new InvalidArchive("the same log begins again");
  const partialTiles = edge.map((hashes) => Uint8Array.from(Buffer.from(hashes, "base64")));
  const builder = TileBuilder.restore({ size: first, partialTiles }, sha256);
  if (builder === undefined || size <= first)
    throw new InvalidArchive("the hashes before the first record do not match its index");
  const keys = await verifierKeys(origin, state.keys);
  const firstRoot = builder.root();
  const position = { origin, first, size, keys, builder, firstRoot };
  state.logs.push({ ...position, root: undefined, covered: first, ends: new Map() });
  compareAt(state);
}

function currentLog(state: ArchiveState): LogState {
  const log = state.logs.at(-1);
  if (log === undefined) throw new InvalidArchive("unexpected line before the first log");
  return log;
}

function addRecord(state: ArchiveState, record: ArchivedRecord): void {
  const log = currentLog(state);
  const { builder, ends, first, size } = log;
  const { index, previous, account, stream, outcome, revision } = record;
  const name = `record ${record.log}/${record.number}`;
  if (index !== builder.size || index >= size)
    throw new InvalidArchive(`${name} is not the next one: a record is missing, moved or added before it`);
  const before = ends.get(streamName(account, stream));
  const isLinked = before === undefined ? previous === null || previous < first : previous === before;
  if (!isLinked) throw new InvalidArchive(`${name} is not linked to the record before it`);
  if (record.body !== null && hashText(canonicalJson(record.body)) !== record.body_hash)
    throw new InvalidArchive(`the content of ${name} does not match what was recorded`);
  const { log: writer, number, subject_id: subject, body_hash: bodyHash } = record;
  const text = recordText({ log: writer, number, account, stream, outcome, subject, revision, bodyHash });
  builder.append(hashRecordLeaf({ previous, recordHash: hashText(text) }));
  ends.set(streamName(account, stream), index);
  state.records += 1;
  state.earliest = Math.min(state.earliest, number);
  if (builder.size === size) log.root = builder.root();
  compareAt(state);
}

function addLeaf(state: ArchiveState, hash: string): void {
  const { builder, size } = currentLog(state);
  if (builder.size < size) throw new InvalidArchive(`the record at index ${builder.size} is missing`);
  builder.append(Uint8Array.from(Buffer.from(hash, "base64")));
  compareAt(state);
}

/** Compares the tree with trusted checkpoints of its size. */
function compareAt(state: ArchiveState): void {
  const { origin, builder } = currentLog(state);
  for (const trusted of state.trusted.get(`${origin} ${builder.size}`) ?? []) {
    if (!Buffer.from(trusted.root).equals(builder.root()))
      throw new InvalidArchive(`the first ${builder.size} records are not those of a trusted checkpoint`);
    state.compared += 1;
  }
}

async function verifyNote(state: ArchiveState, note: string): Promise<void> {
  const log = currentLog(state);
  const { builder, origin, keys } = log;
  const checkpoint = await verifyCheckpoint(note, { origin, keys });
  if (checkpoint === undefined)
    throw new InvalidArchive(`the checkpoint of size ${builder.size} is not signed by a known key`);
  if (checkpoint.size !== builder.size || !Buffer.from(checkpoint.root).equals(builder.root()))
    throw new InvalidArchive(
      `records ${log.covered} to ${builder.size - 1} of ${origin} are not those that a checkpoint signed`,
    );
  log.covered = builder.size;
  state.checkpoints += 1;
}

/** Before the next log and at the end. */
function verifyCovered({ logs }: ArchiveState): void {
  const log = logs.at(-1);
  if (log === undefined) return;
  if (log.builder.size < log.size)
    throw new InvalidArchive(`the record at index ${log.builder.size} is missing`);
  if (log.covered !== log.builder.size)
    throw new InvalidArchive(`no checkpoint covers the records from index ${log.covered} on`);
}

function verifyEnd(state: ArchiveState, records: number): void {
  verifyCovered(state);
  if (records !== state.records)
    throw new InvalidArchive(`the archive ends with ${records} records, and has ${state.records}`);
  // Earlier records were archived with earlier months, and a month without any has no archive.
  if (timestampOf(state.earliest).slice(0, 7) !== state.month)
    throw new InvalidArchive("the archive is not of the month that it names");
  state.isComplete = true;
}
