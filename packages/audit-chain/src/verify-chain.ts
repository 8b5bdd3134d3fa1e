import {
  type Checkpoint,
  type CheckpointKey,
  checkSignaturesWith,
  type SignatureCheck,
} from "./checkpoint.ts";
import { type ExportLine, readExportLine } from "./export-line.ts";
import { type AuditLink, hashBeforeFirst, hashBody, hashLink, microsecondsOf } from "./link.ts";

export type Trust = {
  /** Keys that were kept apart from the export; without them the export's own are believed. */
  readonly keys?: readonly CheckpointKey[] | undefined;
  /** Checkpoints that were kept apart from the database, of this chain and of any others. */
  readonly checkpoints?: readonly Checkpoint[];
};

export type Verdict =
  | {
      readonly isSound: true;
      readonly chain: string;
      readonly links: number;
      /** How many signed words about it were compared, the export's own and those kept apart. */
      readonly checkpoints: number;
    }
  | {
      readonly isSound: false;
      readonly chain: string | undefined;
      /** The first link that is not as it was, by its number; undefined when the file is no export. */
      readonly seq: number | undefined;
      readonly line: number;
      readonly reason: string;
    };

/** Checks an export of one chain, and names the first row that is not what was recorded. */
export async function verifyChain(
  lines: AsyncIterable<string> | Iterable<string>,
  trust: Trust = {},
): Promise<Verdict> {
  let line = 0;
  let walk: Walk | undefined;
  try {
    for await (const text of lines) {
      line += 1;
      // Written while the next links were looked for.
      if (text === "") continue;
      if (walk?.isEnded === true) throw new Bad(walk.seq + 1, "something follows after the end");
      const parsed = readExportLine(text);
      if (walk === undefined) walk = await begin(parsed, trust);
      else if (parsed === undefined) throw new Bad(walk.seq + 1, "its line is not one of an export");
      else await step(walk, parsed);
    }
    if (walk === undefined) throw new Bad(undefined, "the file is empty");
    if (!walk.isEnded) throw new Bad(walk.seq + 1, "the export breaks off here");
    return { isSound: true, chain: walk.chain, links: walk.seq, checkpoints: walk.compared };
  } catch (problem) {
    if (!(problem instanceof Bad)) throw problem;
    return { isSound: false, chain: walk?.chain, seq: problem.seq, line, reason: problem.message };
  }
}

/** Where the check stands: everything up to `seq` is as it was recorded. */
type Walk = {
  readonly chain: string;
  readonly isSigned: SignatureCheck;
  /** Those kept apart that are still to be met, the lowest first. */
  readonly awaited: Checkpoint[];
  seq: number;
  hash: string;
  at: bigint;
  compared: number;
  isEnded: boolean;
};

class Bad extends Error {
  readonly seq: number | undefined;

  constructor(seq: number | undefined, reason: string) {
    super(reason);
    this.seq = seq;
  }
}

async function begin(first: ExportLine | undefined, trust: Trust): Promise<Walk> {
  if (first?.type !== "chain")
    throw new Bad(undefined, "it does not begin as an export of an audit log does");
  const isSigned = await checkSignaturesWith(trust.keys ?? first.keys);
  const awaited = (trust.checkpoints ?? [])
    .filter(({ chain }) => chain === first.chain)
    .toSorted((left, right) => left.seq - right.seq);
  for (const checkpoint of awaited) {
    if (!(await isSigned(checkpoint)))
      throw new Bad(
        checkpoint.seq,
        "a checkpoint of it that was kept apart is not signed by a key of this log",
      );
  }
  const hash = await hashBeforeFirst(first.chain);
  return { chain: first.chain, isSigned, awaited, seq: 0, hash, at: 0n, compared: 0, isEnded: false };
}

async function step(walk: Walk, line: ExportLine): Promise<void> {
  switch (line.type) {
    case "chain":
      throw new Bad(walk.seq + 1, "another chain begins in its place");
    case "link":
      return follow(walk, line);
    case "checkpoint":
      return compare(walk, line);
    case "end":
      return end(walk, line);
  }
}

async function follow(walk: Walk, link: AuditLink): Promise<void> {
  const expected = walk.seq + 1;
  if (link.seq > expected) throw new Bad(expected, "it is missing");
  if (link.seq < expected) throw new Bad(link.seq, "it stands there twice");
  if (link.previous !== walk.hash) throw new Bad(expected, "it does not follow the row before it");
  if (link.body !== null && (await hashBody(link.body)) !== link.body_hash)
    throw new Bad(expected, "what it says is not what was recorded");
  if ((await hashLink(walk.chain, link)) !== link.hash)
    throw new Bad(expected, "its hash is not that of what it holds");
  const at = microsecondsOf(link.at);
  if (at < walk.at) throw new Bad(expected, "its time lies before that of the row before it");
  Object.assign(walk, { seq: expected, hash: link.hash, at });
  while (walk.awaited[0]?.seq === expected) {
    const kept = walk.awaited.shift();
    if (kept?.hash !== link.hash)
      throw new Bad(expected, "it is not the row that a checkpoint kept apart was made of");
    walk.compared += 1;
  }
}

async function compare(walk: Walk, checkpoint: Checkpoint): Promise<void> {
  if (checkpoint.seq > walk.seq) throw new Bad(walk.seq + 1, "it is missing");
  if (checkpoint.chain !== walk.chain || checkpoint.seq < walk.seq)
    throw new Bad(walk.seq, "it stands between another row and that row's checkpoint");
  if (checkpoint.hash !== walk.hash)
    throw new Bad(walk.seq, "it is not the row that its checkpoint was made of");
  if (!(await walk.isSigned(checkpoint)))
    throw new Bad(walk.seq, "its checkpoint is not signed by a key of this log");
  walk.compared += 1;
}

function end(walk: Walk, { seq, hash }: { readonly seq: number; readonly hash: string }): void {
  const [kept] = walk.awaited;
  if (kept !== undefined)
    throw new Bad(
      walk.seq + 1,
      `it is missing: a checkpoint kept apart was made of row ${kept.seq}, so this log was put back`,
    );
  if (seq > walk.seq) throw new Bad(walk.seq + 1, `it is missing: the log ends with row ${seq}`);
  if (seq < walk.seq) throw new Bad(seq + 1, `it is too much: the log ends with row ${seq}`);
  if (hash !== walk.hash) throw new Bad(walk.seq, "it is not the row that the log ends with");
  walk.isEnded = true;
}
