/**
 * @module
 * Exports of one stream of the audit log: its records, the proof that each is a leaf of a log, and the signed checkpoint
 * that the proofs lead to. Guarantees nothing about what is stored: an export of altered rows does not verify.
 * Imported by `audit/http.ts`.
 */
import type { CheckpointKey } from "@hearth-and-keep/audit-chain";
import { recordFormat, type StreamExportLine, writeStreamLine } from "@hearth-and-keep/audit-records";
import {
  buildInclusionProof,
  partialTilesOf,
  readNodesFromTiles,
  type Tile,
} from "@hearth-and-keep/transparency-log";
import { LRUCache } from "lru-cache";
import { maxEntries } from "../../cache-options.ts";
import type { Database } from "../../database/open-database.ts";
import type { ServerKeys } from "../../keys/server-keys.ts";
import { sha256, toBase64 } from "../bytes.ts";
import { parseBody } from "../chains/describe-link.ts";
import { exportChain } from "../chains/export-chain.ts";
import { readHead } from "../chains/queries.ts";
import { listStreamEnds, type StreamEndRow, type StreamRef } from "../queries.ts";
import { type ExportedRow, type LeafRow, readLeavesBefore, readRecords, readTile } from "./queries.ts";

export type ExportDependencies = {
  readonly database: Pick<Database, "query" | "queryInAccount">;
  readonly serverKeys: Pick<ServerKeys, "publicKeys">;
};

const leavesPerQuery = 2000;
const recordsPerChunk = 250;
const cachedTiles = 256;

/**
 * Streams the chain in the old format, if there is one, and then the records of each log up to its last checkpoint,
 * except those that are archived.
 */
export async function* exportStream(
  streamRef: StreamRef,
  { database, serverKeys }: ExportDependencies,
): AsyncGenerator<string> {
  const { accountId, stream } = streamRef;
  const keys = describeKeys(serverKeys);
  const chainRef = { accountId, chain: stream };
  const head = await readHead(database, chainRef);
  if (head !== undefined) yield* exportChain(chainRef, { head, keys, database });
  yield writeStreamLine({ type: "stream", format: recordFormat, account: accountId, stream, keys });
  let records = 0;
  for (const end of await listStreamEnds(database, streamRef)) {
    yield writeStreamLine(describeLog(end));
    const leaves = await readLeaves(end, database);
    const prove = createProver(end, database);
    for (let start = 0; start < leaves.length; start += recordsPerChunk) {
      const chunk = leaves.slice(start, start + recordsPerChunk);
      const lines = await exportLeaves(chunk, await readRecords(database, streamRef, chunk), prove);
      // Of leaves, so that a record that is not stored is missing at the end.
      records += chunk.length;
      yield lines.join("");
    }
  }
  yield writeStreamLine({ type: "end", records });
}

export function describeKeys({ publicKeys }: Pick<ServerKeys, "publicKeys">): readonly CheckpointKey[] {
  return [...publicKeys()].map(([version, key]) => ({ version, public_key: toBase64(key) }));
}

function describeLog({ origin, note, first_kept_index }: StreamEndRow): StreamExportLine {
  const firstKept = Number(first_kept_index);
  return { type: "log", origin, note, ...(firstKept === 0 ? {} : { archived_before: firstKept }) };
}

/** All leaves of the stream in this log that are not archived, oldest first. */
async function readLeaves(
  { log_id: log, last_index, first_kept_index }: StreamEndRow,
  database: Pick<Database, "query">,
): Promise<readonly LeafRow[]> {
  const leaves: LeafRow[] = [];
  const firstKept = Number(first_kept_index);
  let index: number | null | undefined = Number(last_index);
  while (index !== null && index !== undefined && index >= firstKept) {
    const found = await readLeavesBefore(database, { log, index, firstKept, limit: leavesPerQuery });
    leaves.push(...found);
    index = found.at(-1)?.previous;
  }
  return leaves.toReversed();
}

type Prover = (index: number) => Promise<readonly string[]>;

function createProver({ log_id: log, size, edge }: StreamEndRow, database: Pick<Database, "query">): Prover {
  const tiles = new LRUCache<string, Uint8Array<ArrayBuffer>>(maxEntries(cachedTiles));
  for (const [place, { level, index }] of partialTilesOf(Number(size)).entries())
    tiles.set(`${level}/${index}`, Uint8Array.from(edge[place] ?? []));
  const readCachedTile = async ({ level, index }: Tile): Promise<Uint8Array<ArrayBuffer> | undefined> => {
    const cached = tiles.get(`${level}/${index}`);
    if (cached !== undefined) return cached;
    const hashes = await readTile(database, { log, level, index });
    if (hashes !== undefined) tiles.set(`${level}/${index}`, hashes);
    return hashes;
  };
  const readNodes = readNodesFromTiles({ size: Number(size), readTile: readCachedTile, sha256 });
  return async (index) => {
    const proof = await buildInclusionProof({ index, size: Number(size) }, { readNodes, sha256 });
    return proof.map(toBase64);
  };
}

/** A leaf whose record is not stored has no line, which verification reports. */
async function exportLeaves(
  leaves: readonly LeafRow[],
  rows: readonly ExportedRow[],
  prove: Prover,
): Promise<readonly string[]> {
  const stored = new Map(rows.map((row) => [`${row.log_id}/${row.number}`, row]));
  const lines: string[] = [];
  for (const { index, number, previous, writer } of leaves) {
    const row = stored.get(`${writer}/${number}`);
    if (row === undefined) continue;
    lines.push(
      writeStreamLine({
        type: "record",
        log: writer,
        number,
        index,
        previous,
        outcome: row.outcome,
        subject_id: row.subject_id,
        revision: row.revision === null ? null : Number(row.revision),
        body: row.body === null ? null : parseBody(row.body),
        body_hash: row.body_hash,
        proof: await prove(index),
      }),
    );
  }
  return lines;
}
