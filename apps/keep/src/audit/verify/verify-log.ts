import type { CheckpointKey } from "@hearth-and-keep/audit-chain";
import { type TileBuilder, type VerifierKey, verifyCheckpoint } from "@hearth-and-keep/transparency-log";
import type { Database } from "../../database/open-database.ts";
import { textOf } from "../adopt-records.ts";
import { hashRecordLeaf, hashText } from "../bytes.ts";
import { streamName } from "../stream-name.ts";
import type { CarryOverCheck } from "./carry-overs.ts";
import type { ErasureCheck } from "./erasures.ts";
import { openKeptPart } from "./kept-part.ts";
import {
  type BatchRow,
  type EndRow,
  findBatchBefore,
  type LeafKey,
  type LogEnd,
  type LogRow,
  readBatches,
  readEnd,
  readHashedRecords,
  type VerifiedRow,
} from "./queries.ts";
import { createTileReader, hashBytes, type TileReader } from "./read-tiles.ts";
import { type TrustedNote, verifierKeys } from "./trusted-notes.ts";

export type LogToVerify = {
  readonly log: LogRow;
  readonly keys: readonly CheckpointKey[];
  readonly trusted: readonly TrustedNote[];
  /** What archive files contain of this log, if any were verified. */
  readonly archive?: ArchivedTree | undefined;
};

/** The tree at the end of the archived part. */
export type ArchivedTree = { readonly size: number; readonly root: Uint8Array };

export type LogVerifier = {
  readonly database: Pick<Database, "acrossAccounts">;
  readonly report: (finding: string) => void;
  readonly erasures: ErasureCheck;
  readonly carryOvers: CarryOverCheck;
};

export type VerifiedLog = {
  readonly records: number;
  /** Records that are archived, and were not verified. */
  readonly archived: number;
  readonly checkpoints: number;
  /** Trusted checkpoints of the archived part, which nothing stored can be compared with. */
  readonly olderTrusted: number;
};

/** Builds the tree again from the stored records, and compares it with everything that is stored or trusted of it. */
export async function verifyLog(
  { log, keys, trusted, archive }: LogToVerify,
  { database, report: reportOf, erasures, carryOvers }: LogVerifier,
): Promise<VerifiedLog> {
  const report = (finding: string): void => reportOf(`Log ${log.origin}: ${finding}`);
  const firstKept = Number(log.first_kept_index);
  const tiles = createTileReader(log, database);
  const kept = await openKeptPart(firstKept, tiles, report);
  const comparable = trusted.filter(({ size }) => size >= firstKept);
  const olderTrusted = trusted.length - comparable.length;
  if (kept === undefined) return { records: 0, archived: firstKept, checkpoints: 0, olderTrusted };
  const state: VerifierState = {
    log,
    firstKept,
    report,
    erasures,
    carryOvers,
    keys: await verifierKeys(log.origin, keys),
    trusted: new Map(Map.groupBy(comparable, ({ size }) => size)),
    builder: kept.builder,
    ends: new Map(),
    tiles,
    tileCount: kept.tiles,
    checkpoints: 0,
    lastNote: undefined,
    lastBatch: (await findBatchBefore(database, log.id, firstKept)) - 1,
  };
  if (archive !== undefined) compareWithArchive(state, archive);
  await compareAt(state);
  await verifyBatches(state, database);
  verifyEnd(state, await readEnd(database, log.id));
  const { builder, checkpoints } = state;
  return { records: builder.size - firstKept, archived: firstKept, checkpoints, olderTrusted };
}

function compareWithArchive({ firstKept, builder, report }: VerifierState, archive: ArchivedTree): void {
  if (archive.size !== firstKept)
    report(`its archive files end after ${archive.size} records, but ${firstKept} are archived`);
  else if (!Buffer.from(archive.root).equals(builder.root()))
    report("its archived records are not those in the archive files");
}

type VerifierState = {
  readonly log: LogRow;
  /** The leaves before it are archived. */
  readonly firstKept: number;
  readonly report: (finding: string) => void;
  readonly erasures: ErasureCheck;
  readonly carryOvers: CarryOverCheck;
  readonly keys: readonly VerifierKey[];
  /** By size. */
  readonly trusted: Map<number, readonly TrustedNote[]>;
  readonly builder: TileBuilder;
  /** By `streamName`. */
  readonly ends: Map<string, { index: number; records: number; stream: string }>;
  readonly tiles: TileReader;
  tileCount: number;
  checkpoints: number;
  lastNote: string | undefined;
  /** First index of the batch that was read last. */
  lastBatch: number;
};

/** In the order of their indexes, as far as the tree can be built. */
async function verifyBatches(
  state: VerifierState,
  database: Pick<Database, "acrossAccounts">,
): Promise<void> {
  const { log, firstKept, builder, report } = state;
  for (;;) {
    const batches = await readBatches(database, log.id, state.lastBatch);
    if (batches.length === 0) return;
    for (const batch of batches) {
      const first = Number(batch.first_index);
      state.lastBatch = first;
      // The batch in which the kept part begins also has archived leaves.
      const start = Math.max(first, firstKept);
      if (start < builder.size) {
        report(`the batch at index ${first} was added`);
        continue;
      }
      if (start > builder.size) {
        report(`leaves ${builder.size} to ${start - 1} are missing`);
        if (!(await skipTo(state, start))) {
          return report(`its records from index ${start} on cannot be verified`);
        }
      }
      await verifyBatch(state, batch, database);
    }
  }
}

async function verifyBatch(
  state: VerifierState,
  batch: BatchRow,
  database: Pick<Database, "acrossAccounts">,
): Promise<void> {
  const { log, builder, report } = state;
  if (batch.numbers.length === 0) return report(`the batch at index ${builder.size} is empty`);
  const leaves = leavesOf(batch, log.id).slice(builder.size - Number(batch.first_index));
  const rows = leaves.length === 0 ? [] : await readHashedRecords(database, leaves);
  const stored = Map.groupBy(rows, (row) => `${row.log_id}/${row.number}`);
  for (const { number, writer, previous } of leaves)
    await verifyLeaf(state, {
      name: `${writer}/${number}`,
      rows: stored.get(`${writer}/${number}`) ?? [],
      previous,
    });
  await verifyNote(state, batch.note);
}

/** The leaves of a batch, in the order of their indexes. */
export function leavesOf({ numbers, previous, writers }: BatchRow, log: number): readonly BatchLeaf[] {
  return numbers.map((number, place) => {
    const before = previous[place];
    return {
      number: Number(number),
      writer: writers?.[place] ?? log,
      previous: before === null || before === undefined ? null : Number(before),
    };
  });
}

type BatchLeaf = LeafKey & { readonly previous: number | null };

type StoredLeaf = {
  readonly name: string;
  /** More than one when a copy was added to another stream. */
  readonly rows: readonly VerifiedRow[];
  readonly previous: number | null;
};

/** The tree continues with the stored hash of the leaf, so that one bad record does not hide the next. */
async function verifyLeaf(state: VerifierState, { name, rows, previous }: StoredLeaf): Promise<void> {
  const { builder, ends, report } = state;
  const index = builder.size;
  // What was appended since the log was listed is not at its edge yet.
  const stored = index < Number(state.log.size) ? await state.tiles.hashAt(0, index) : undefined;
  const isLeaf = (each: VerifiedRow): boolean =>
    stored !== undefined && Buffer.from(leafHashOf(each, previous)).equals(stored);
  const row = rows.length > 1 ? (rows.find(isLeaf) ?? rows[0]) : rows[0];
  for (const other of rows) if (other !== row) report(`record ${name} of ${other.stream_id} was added`);
  const hash = row === undefined ? undefined : leafHashOf(row, previous);
  const signed = stored ?? hash;
  if (row === undefined) report(`record ${name} was removed`);
  else if (hash === undefined || signed === undefined || !Buffer.from(hash).equals(signed))
    report(`record ${name} does not match its leaf: it was changed`);
  else {
    const before = ends.get(streamName(row.account_id, row.stream_id))?.index ?? null;
    // The stream's record before it may be archived. Its leaf is signed with the link, whatever it is.
    const isArchived = before === null && previous !== null && previous < state.firstKept;
    if (isArchived) state.carryOvers.addArchived(row.stream_id);
    else if (before !== previous) report(`record ${name} is not linked to the record before it`);
    state.erasures.add(row);
    state.carryOvers.add(row);
  }
  if (row !== undefined) {
    const stream = streamName(row.account_id, row.stream_id);
    const records = (ends.get(stream)?.records ?? 0) + 1;
    ends.set(stream, { index, records, stream: row.stream_id });
  }
  builder.append(signed ?? new Uint8Array(hashBytes));
  await compareAt(state);
}

/** Continues the tree with stored hashes; false when there is none. */
async function skipTo(state: VerifierState, index: number): Promise<boolean> {
  while (state.builder.size < index) {
    const hash = await state.tiles.hashAt(0, state.builder.size);
    if (hash === undefined) return false;
    state.builder.append(hash);
    await compareAt(state);
  }
  return true;
}

/** Compares the tree with trusted checkpoints of its size, and its tiles with the stored ones. */
async function compareAt(state: VerifierState): Promise<void> {
  const { builder, trusted, report, tiles } = state;
  const ofSize = trusted.get(builder.size);
  if (ofSize !== undefined) {
    const root = Buffer.from(builder.root());
    if (!ofSize.every((note) => root.equals(note.root)))
      report(`the first ${builder.size} records are not those of a trusted checkpoint`);
    trusted.delete(builder.size);
  }
  for (const { level, index, hashes } of builder.takeFullTiles()) {
    state.tileCount += 1;
    const stored = await tiles.read(level, index);
    if (stored === undefined) report(`tile ${level}/${index} is missing`);
    else if (!Buffer.from(hashes).equals(stored)) report(`tile ${level}/${index} was changed`);
  }
}

async function verifyNote(state: VerifierState, note: string): Promise<void> {
  const { builder, log, keys, report } = state;
  const checkpoint = await verifyCheckpoint(note, { origin: log.origin, keys });
  state.lastNote = note;
  if (checkpoint === undefined) report(`the checkpoint of size ${builder.size} is not signed by a known key`);
  else if (checkpoint.size !== builder.size || !Buffer.from(checkpoint.root).equals(builder.root()))
    report(`the records up to index ${builder.size} are not those that a checkpoint signed`);
  else state.checkpoints += 1;
}

function verifyEnd(state: VerifierState, end: LogEnd): void {
  const { builder, trusted, report, lastNote, tileCount } = state;
  for (const size of trusted.keys())
    report(`a trusted checkpoint has ${size} records, the log ${builder.size}: it was rolled back or cut`);
  if (Number(end.size) !== builder.size)
    report(`its size says ${end.size} records, but ${builder.size} are stored`);
  if ((end.note ?? undefined) !== lastNote) report("its latest checkpoint is not that of its last records");
  const edge = builder.partialTiles().map(({ hashes }) => Buffer.from(hashes));
  if (edge.length !== end.edge.length || !edge.every((hashes, at) => end.edge[at]?.equals(hashes) === true))
    report("the hashes at the edge of its tree were changed");
  if (end.tiles > tileCount) report("tiles were added to its tree");
  verifyStreamEnds(state, end.streams);
}

function verifyStreamEnds(
  { firstKept, ends, carryOvers, report }: VerifierState,
  streams: readonly EndRow[],
): void {
  const expected = new Map(ends);
  for (const { stream_id, account_id, last_index, records } of streams) {
    const name = streamName(account_id, stream_id);
    const end = expected.get(name);
    expected.delete(name);
    const isSame = end?.index === Number(last_index) && end.records === Number(records);
    const isArchived = end === undefined && Number(last_index) < firstKept && Number(records) === 0;
    if (isArchived) carryOvers.addArchived(stream_id);
    else if (!isSame) report(`the end of stream ${stream_id} was changed`);
  }
  for (const { stream } of expected.values()) report(`the end of stream ${stream} was removed`);
}

function leafHashOf(row: VerifiedRow, previous: number | null): Uint8Array<ArrayBuffer> {
  return hashRecordLeaf({ previous, recordHash: hashText(textOf(row)) });
}
