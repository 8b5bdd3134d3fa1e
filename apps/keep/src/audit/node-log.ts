import {
  formatCheckpoint,
  formatNote,
  makeVerifierKey,
  signNote,
  TileBuilder,
  type VerifierKey,
} from "@hearth-and-keep/transparency-log";
import { LRUCache } from "lru-cache";
import { maxEntries } from "../cache-options.ts";
import type { Database } from "../database/open-database.ts";
import type { ServerKeys } from "../keys/server-keys.ts";
import { hashRecordLeaf, sha256 } from "./bytes.ts";
import type { AuditOutcome } from "./events.ts";
import {
  appendLeaves,
  findStreamEnds,
  type HeldLog,
  holdLog,
  type NewLeaves,
  releaseLog,
} from "./queries.ts";
import { streamName } from "./stream-name.ts";

/** A record that is in the database, and not yet in a tree. */
export type CommittedRecord = {
  /** The log of the node that wrote it. */
  readonly log: number;
  readonly number: number;
  readonly account: string;
  readonly stream: string;
  readonly outcome: AuditOutcome;
  /** Hexadecimal. */
  readonly recordHash: string;
};

/** The log of this process: a Merkle tree that only grows, and of which only this process signs checkpoints. */
export type NodeLog = AsyncDisposable & {
  /** Where records get their numbers. */
  readonly numbering: Numbering;
  /** Records that become the next leaves, to be added when their transaction has committed. */
  readonly committed: CommittedRecord[];
  /** Makes leaves of all committed records, and stores a checkpoint that covers them. */
  append(): Promise<void>;
  /** The latest checkpoint of this process, for storage outside the database. */
  latestCheckpoint(): string | undefined;
};

/** Numbers of records are the database's time in microseconds, and never repeat in a log. */
export type Numbering = {
  log: number;
  last: number;
  /** What to add to the monotonic clock of this process, in microseconds. */
  offset: number;
};

export type NodeLogDependencies = {
  readonly database: Pick<Database, "query">;
  readonly serverKeys: Pick<ServerKeys, "sign" | "publicKeys">;
  /** Origins are this name followed by the number of the log. */
  readonly originPrefix: string;
};

/** Logs are named after the address of the server. */
export function auditOrigin({ publicUrl }: { readonly publicUrl: string | undefined }): string {
  return `${publicUrl === undefined ? "keep" : new URL(publicUrl).host}/audit/`;
}

const maxLeavesPerCheckpoint = 5000;
const maxRememberedStreams = 50_000;

export async function openNodeLog(dependencies: NodeLogDependencies): Promise<NodeLog> {
  const { database } = dependencies;
  const committed: CommittedRecord[] = [];
  let tree = await openTree(dependencies, undefined);
  const numbering: Numbering = { log: 0, last: 0, offset: 0 };
  follow(numbering, tree.held);
  let note: string | undefined;
  /** Leaves of an append that failed or is under way. */
  let attempted = 0;
  const reopenTree = async (): Promise<void> => {
    const reopened = await openTree(dependencies, tree.held);
    // Whether the append that failed took effect is decided by the log that it would have extended.
    const isStored = reopened.held.id === tree.held.id && reopened.held.size === tree.held.size + attempted;
    if (isStored) committed.splice(0, attempted);
    tree = reopened;
    follow(numbering, tree.held);
    attempted = 0;
  };
  const appendPending = async (): Promise<void> => {
    if (attempted > 0) await reopenTree();
    while (committed.length > 0) {
      const batch = committed.slice(0, maxLeavesPerCheckpoint);
      attempted = batch.length;
      note = await appendBatch(tree, batch, dependencies);
      committed.splice(0, attempted);
      attempted = 0;
    }
  };
  let running: Promise<void> = Promise.resolve();
  const append = (): Promise<void> => (running = running.catch(() => undefined).then(appendPending));
  return {
    numbering,
    committed,
    append,
    latestCheckpoint: () => note,
    async [Symbol.asyncDispose]() {
      await append().catch(() => undefined);
      // A log that is not released stays as it is, and others adopt what it lacks.
      if (attempted === 0) await releaseLog(database, tree.held).catch(() => undefined);
    },
  };
}

/** Follows the database's clock from the moment that the log was taken; numbers only ever increase. */
function follow(numbering: Numbering, { id, clock, lastNumber }: HeldLog): void {
  numbering.log = id;
  numbering.offset = clock - performance.now() * 1000;
  numbering.last = Math.max(numbering.last, lastNumber);
}

type Tree = {
  held: HeldLog;
  readonly builder: TileBuilder;
  readonly key: VerifierKey;
  /** Index of the last leaf of a stream, by `streamName`. */
  readonly ends: LRUCache<string, { readonly index: number | null }>;
};

async function openTree(
  { database, serverKeys, originPrefix }: NodeLogDependencies,
  own: HeldLog | undefined,
): Promise<Tree> {
  const held = await holdLog(database, originPrefix, own);
  const builder = TileBuilder.restore({ size: held.size, partialTiles: held.edge }, sha256);
  if (builder === undefined) throw new Error("The stored edge of an audit log does not match its size");
  const publicKey = [...serverKeys.publicKeys().values()].at(-1);
  if (publicKey === undefined) throw new Error("There is no key to sign checkpoints");
  const key = await makeVerifierKey({
    name: held.origin,
    type: "signature",
    publicKey: Uint8Array.from(publicKey.subarray(-32)),
  });
  return { held, builder, key, ends: new LRUCache(maxEntries(maxRememberedStreams)) };
}

/** Extends the tree and stores it; returns the checkpoint. After an error, the tree in memory is not the stored one. */
async function appendBatch(
  tree: Tree,
  records: readonly CommittedRecord[],
  { database, serverKeys }: NodeLogDependencies,
): Promise<string> {
  const { held, builder, key, ends } = tree;
  await loadEnds(tree, records, database);
  const previous = records.map(({ account, stream, recordHash }) => {
    const name = streamName(account, stream);
    const before = ends.get(name)?.index ?? null;
    ends.set(name, { index: builder.size });
    builder.append(hashRecordLeaf({ previous: before, recordHash }));
    return before;
  });
  const { size } = builder;
  const text = formatCheckpoint({ origin: held.origin, size, root: builder.root(), extensions: [] });
  const signature = await signNote(text, {
    key,
    sign: (message) => Uint8Array.from(serverKeys.sign(message).signature),
  });
  const note = formatNote({ text, signatures: [signature] });
  const edge = builder.partialTiles().map(({ hashes }) => hashes);
  const checkpoint = { oldSize: held.size, note, edge, tiles: builder.takeFullTiles() };
  const isStored = await appendLeaves(database, held, {
    checkpoint,
    leaves: describeLeaves(tree, records, previous),
  });
  if (!isStored) throw new Error("This process no longer holds its audit log");
  tree.held = { ...held, size };
  return note;
}

async function loadEnds(
  { held, ends }: Tree,
  records: readonly CommittedRecord[],
  database: Pick<Database, "query">,
): Promise<void> {
  const unknown = records.filter(({ account, stream }) => !ends.has(streamName(account, stream)));
  if (unknown.length === 0) return;
  for (const { account, stream } of unknown) ends.set(streamName(account, stream), { index: null });
  const streams = [...new Set(unknown.map(({ stream }) => stream))];
  for (const { account, stream, index } of await findStreamEnds(database, held.id, streams))
    ends.set(streamName(account, stream), { index });
}

function describeLeaves(
  { held, ends }: Tree,
  records: readonly CommittedRecord[],
  previous: readonly (number | null)[],
): NewLeaves {
  const byName = Object.groupBy(records, ({ account, stream }) => streamName(account, stream));
  const streams = Object.entries(byName).flatMap(([name, ofStream]) => {
    const [first] = ofStream ?? [];
    if (first === undefined) return [];
    const last = ends.get(name)?.index ?? 0;
    return [{ id: first.stream, account: first.account, last, added: ofStream?.length ?? 0 }];
  });
  const byDay = Object.groupBy(records, ({ account, stream, number, outcome }) =>
    [account, stream, dayOf(number), outcome].join(),
  );
  const counts = Object.values(byDay).flatMap((counted) => {
    const [first] = counted ?? [];
    if (first === undefined) return [];
    const { account, stream, number, outcome } = first;
    return [{ account, stream, day: dayOf(number), outcome, added: counted?.length ?? 0 }];
  });
  const isAdopted = records.some(({ log }) => log !== held.id);
  return {
    numbers: records.map(({ number }) => number),
    previous,
    writers: isAdopted ? records.map(({ log }) => log) : null,
    streams,
    counts,
  };
}

/** In UTC. */
function dayOf(number: number): string {
  return new Date(number / 1000).toISOString().slice(0, 10);
}
