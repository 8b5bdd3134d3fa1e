import {
  chooseSize,
  hasLooseTimingBounds,
  recordFigure,
  startProcessorClock,
} from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { buildConsistencyProof, buildInclusionProof } from "./build-proofs.ts";
import type { Bytes } from "./bytes.ts";
import { formatCheckpoint, type TrustedLog, verifyCheckpoint } from "./checkpoint.ts";
import { hashLeaf } from "./hashing.ts";
import { readNodesFromTiles } from "./read-tiles.ts";
import { type NoteSigner, signNote } from "./sign-note.ts";
import { formatNote } from "./signed-note.ts";
import { bitsOf, differsInBytes, flipBit, flipBitOfList, flipBitOfText } from "./test/flip-bit.ts";
import { makeSigner } from "./test/make-signer.ts";
import { recordBytes, recordHash } from "./test/memory-tree.ts";
import { nodeSha256 } from "./test/node-sha256.ts";
import { type OracleRequest, openOracle } from "./test/open-oracle.ts";
import { seededRandom } from "./test/seeded-random.ts";
import { TileBuilder } from "./tile-builder.ts";
import { type Tile, tilePath } from "./tiles.ts";
import { formatVerifierKey } from "./verifier-key.ts";
import { verifyConsistency, verifyInclusion } from "./verify-proofs.ts";

const records = chooseSize({ ci: 20_000, show: 1_000_000, nightly: 1_000_000 });
const checkpointCount = 100;
const proofCount = 1000;
/** Changed bits per kind: records, proofs, checkpoints. */
const changeCount = chooseSize({ ci: 300, show: 1000, nightly: 5000 });
const maxMicrosecondsPerLeaf = hasLooseTimingBounds ? 50 : 10;
const hashBits = 256;

type SignedRoot = { readonly size: number; readonly root: Bytes; readonly note: string };
type Log = {
  readonly signer: NoteSigner;
  readonly trusted: TrustedLog;
  readonly checkpoints: readonly SignedRoot[];
  /** Tiles by path, as a store would have them. */
  readonly tiles: ReadonlyMap<string, Bytes>;
  /** CPU time, which does not grow when the machine is busy. */
  readonly microsecondsPerLeaf: number;
};

async function keepLog(): Promise<Log> {
  const origin = "log.example/audit/0";
  const signer = await makeSigner(origin);
  const builder = new TileBuilder(nodeSha256);
  const tiles = new Map<string, Bytes>();
  const checkpoints: SignedRoot[] = [];
  let milliseconds = 0;
  for (let number = 1; number <= checkpointCount; number += 1) {
    // Sizes that are not multiples of anything in particular; the last has every record.
    const size =
      number === checkpointCount ? records : Math.floor((records * number ** 2) / checkpointCount ** 2);
    const contents = Array.from({ length: size - builder.size }, (_, at) => recordBytes(builder.size + at));
    const elapsed = startProcessorClock();
    for (const content of contents) builder.append(hashLeaf(content, nodeSha256));
    milliseconds += elapsed();
    const stored = [...builder.takeFullTiles(), ...builder.partialTiles()];
    for (const tile of stored) tiles.set(tilePath(tile), tile.hashes);
    const text = formatCheckpoint({ origin, size, root: builder.root(), extensions: [] });
    const note = formatNote({ text, signatures: [await signNote(text, signer)] });
    checkpoints.push({ size, root: builder.root(), note });
  }
  const microsecondsPerLeaf = (1000 * milliseconds) / records;
  return { signer, trusted: { origin, keys: [signer.key] }, checkpoints, tiles, microsecondsPerLeaf };
}

function treeOf({ tiles }: Log, size: number) {
  const readTile = (tile: Tile) => Promise.resolve(tiles.get(tilePath(tile)));
  return { readNodes: readNodesFromTiles({ size, readTile, sha256: nodeSha256 }), sha256: nodeSha256 };
}

const random = seededRandom("many records");

async function proveRecords(log: Log): Promise<readonly (OracleRequest & { readonly kind: "inclusion" })[]> {
  const requests: (OracleRequest & { readonly kind: "inclusion" })[] = [];
  for (let count = 0; count < proofCount; count += 1) {
    const { size, root } = pick(log.checkpoints);
    const index = random(size);
    const proof = await buildInclusionProof({ index, size }, treeOf(log, size));
    requests.push({ kind: "inclusion", size, root, index, leaf: recordHash(index), proof });
  }
  return requests;
}

/** Every checkpoint with the one before it, and with the last. */
async function proveGrowth(log: Log): Promise<readonly (OracleRequest & { readonly kind: "consistency" })[]> {
  const pairs = log.checkpoints.flatMap((checkpoint, at) =>
    [log.checkpoints[at + 1], log.checkpoints.at(-1)].flatMap((later) =>
      later === undefined ? [] : [[checkpoint, later] as const],
    ),
  );
  return Promise.all(
    pairs.map(async ([{ size: oldSize, root: oldRoot }, { size, root }]) => {
      const proof = await buildConsistencyProof({ oldSize, newSize: size }, treeOf(log, size));
      return { kind: "consistency" as const, size, root, oldSize, oldRoot, proof };
    }),
  );
}

type Inclusion = Awaited<ReturnType<typeof proveRecords>>[number];
type Consistency = Awaited<ReturnType<typeof proveGrowth>>[number];

const isIncluded = ({ leaf, ...claim }: Inclusion) =>
  verifyInclusion({ ...claim, leafHash: leaf }, nodeSha256);
const isConsistent = ({ size, root, ...claim }: Consistency) =>
  verifyConsistency({ ...claim, newSize: size, newRoot: root }, nodeSha256);

/** One changed bit in each of these; returns what is left for Go to reject, and how many this package missed. */
async function changeBits(log: Log, inclusions: readonly Inclusion[], growth: readonly Consistency[]) {
  const altered: OracleRequest[] = [];
  const missed: string[] = [];
  const keys = [formatVerifierKey(log.signer.key)];
  for (let count = 0; count < changeCount; count += 1) {
    const inclusion = pick(inclusions);
    const content = recordBytes(inclusion.index);
    const record = { ...inclusion, leaf: hashLeaf(flipBit(content, random(8 * content.length)), nodeSha256) };
    const proof = { ...inclusion, proof: flipAny(inclusion.proof) };
    const claim = pick(growth.filter(({ proof: { length } }) => length > 0));
    const consistency = { ...claim, proof: flipAny(claim.proof) };
    const { note } = pick(log.checkpoints);
    const alteredNote = flipBitOfText(note, random(bitsOf(note)));
    if (await isIncluded(record)) missed.push("record");
    if (await isIncluded(proof)) missed.push("proof of inclusion");
    if (await isConsistent(consistency)) missed.push("proof of consistency");
    if (alteredNote !== undefined && (await verifyCheckpoint(alteredNote, log.trusted)) !== undefined)
      missed.push("checkpoint");
    altered.push(record, proof, consistency);
    if (alteredNote !== undefined && differsInBytes(alteredNote, note))
      altered.push({ kind: "note", note: alteredNote, keys });
  }
  return { altered, missed };
}

function flipAny(proof: readonly Bytes[]): readonly Bytes[] {
  return flipBitOfList(proof, random(hashBits * proof.length));
}

function pick<Item>(items: readonly Item[]): Item {
  const item = items[random(items.length)];
  if (item === undefined) throw new Error("Cannot pick from an empty list");
  return item;
}

test("a log of very many records is verified by Go, and every changed bit is found", {
  timeout: 1_200_000,
}, async () => {
  const log = await keepLog();
  expect(log.microsecondsPerLeaf).toBeLessThan(maxMicrosecondsPerLeaf);
  const checkpoints = await Promise.all(
    log.checkpoints.map(({ note }) => verifyCheckpoint(note, log.trusted)),
  );
  expect(checkpoints.map((checkpoint) => checkpoint?.size)).toEqual(log.checkpoints.map(({ size }) => size));
  const inclusions = await proveRecords(log);
  const growth = await proveGrowth(log);
  for (const claim of inclusions) expect(await isIncluded(claim)).toBe(true);
  for (const claim of growth) expect(await isConsistent(claim)).toBe(true);
  const { altered, missed } = await changeBits(log, inclusions, growth);
  expect(missed).toEqual([]);
  const keys = [formatVerifierKey(log.signer.key)];
  const notes = log.checkpoints.map(({ note }) => ({ kind: "note", note, keys }) as const);
  const oracle = await openOracle();
  const verdicts = await oracle?.judge([...inclusions, ...growth, ...notes]);
  const rejected = await oracle?.judge(altered);
  expect(verdicts?.includes(false) ?? false).toBe(false);
  expect(rejected?.includes(true) ?? false).toBe(false);
  const byGo =
    oracle === undefined
      ? "not verified by Go, which is not installed"
      : `verified by Go, which also rejects ${altered.length} of ${altered.length} with a changed bit`;
  const changes = 4 * changeCount;
  const text = `${records.toLocaleString("en")} records in ${log.microsecondsPerLeaf.toFixed(1)} µs of CPU each; ${inclusions.length} proofs of inclusion, ${growth.length} proofs of consistency between ${checkpointCount} checkpoints and their signatures ${byGo}; ${changes - missed.length} of ${changes} changed bits in records, proofs and checkpoints found`;
  process.stdout.write(`${text}\n`);
  const reached = (verdicts?.length ?? 0) + changes - missed.length;
  const needed = inclusions.length + growth.length + notes.length + changes;
  recordFigure({ claim: "seal 8", text, counted: { reached, needed } });
});
