import {
  type Checkpoint,
  type CheckpointKey,
  checkSignaturesWith,
  type SignatureCheck,
} from "./checkpoint.ts";
import { type ExportLine, readExportLine } from "./export-line.ts";
import { type AuditLink, hashBeforeFirst, hashBody, hashLink, microsecondsOf } from "./link.ts";

export type TrustedMaterial = {
  /** Public keys stored separately from the export; without them the export's own keys are trusted. */
  readonly keys?: readonly CheckpointKey[] | undefined;
  /** Checkpoints stored separately from the database; those of other chains are ignored. */
  readonly checkpoints?: readonly Checkpoint[];
};

export type VerificationResult =
  | {
      readonly isValid: true;
      readonly chain: string;
      readonly links: number;
      /** Verified checkpoints, both the export's own and the trusted ones. */
      readonly checkpoints: number;
    }
  | {
      readonly isValid: false;
      readonly chain: string | undefined;
      /** Number of the first invalid record; undefined when the file is no export. */
      readonly seq: number | undefined;
      readonly line: number;
      readonly reason: string;
    };

/** Verifies the export of one chain, up to its first invalid record. */
export async function verifyChain(
  lines: AsyncIterable<string> | Iterable<string>,
  trust: TrustedMaterial = {},
): Promise<VerificationResult> {
  let line = 0;
  let state: VerificationState | undefined;
  try {
    for await (const text of lines) {
      line += 1;
      // Keep-alive chunk, written while the server read the next records.
      if (text === "") continue;
      if (state?.isComplete === true)
        throw new InvalidChain(state.seq + 1, "unexpected line after the end of the export");
      const parsed = readExportLine(text);
      if (state === undefined) state = await begin(parsed, trust);
      else if (parsed === undefined) throw new InvalidChain(state.seq + 1, "not a valid export line");
      else await verifyLine(state, parsed);
    }
    if (state === undefined) throw new InvalidChain(undefined, "the file is empty");
    if (!state.isComplete) throw new InvalidChain(state.seq + 1, "the export is truncated");
    return { isValid: true, chain: state.chain, links: state.seq, checkpoints: state.checkpoints };
  } catch (error) {
    if (!(error instanceof InvalidChain)) throw error;
    return { isValid: false, chain: state?.chain, seq: error.seq, line, reason: error.message };
  }
}

/** Everything up to `seq` is verified. */
type VerificationState = {
  readonly chain: string;
  readonly isSigned: SignatureCheck;
  /** Trusted checkpoints that have not been reached, lowest first. */
  readonly pending: Checkpoint[];
  seq: number;
  hash: string;
  at: bigint;
  checkpoints: number;
  isComplete: boolean;
};

class InvalidChain extends Error {
  readonly seq: number | undefined;

  constructor(seq: number | undefined, reason: string) {
    super(reason);
    this.seq = seq;
  }
}

async function begin(first: ExportLine | undefined, trust: TrustedMaterial): Promise<VerificationState> {
  if (first?.type !== "chain") throw new InvalidChain(undefined, "not an export of an audit log");
  const isSigned = await checkSignaturesWith(trust.keys ?? first.keys);
  const pending = (trust.checkpoints ?? [])
    .filter(({ chain }) => chain === first.chain)
    .toSorted((left, right) => left.seq - right.seq);
  for (const checkpoint of pending) {
    if (!(await isSigned(checkpoint)))
      throw new InvalidChain(checkpoint.seq, "a trusted checkpoint is not signed by a key of this log");
  }
  const hash = await hashBeforeFirst(first.chain);
  return { chain: first.chain, isSigned, pending, seq: 0, hash, at: 0n, checkpoints: 0, isComplete: false };
}

async function verifyLine(state: VerificationState, line: ExportLine): Promise<void> {
  switch (line.type) {
    case "chain":
      throw new InvalidChain(state.seq + 1, "another chain begins here");
    case "link":
      return verifyLink(state, line);
    case "checkpoint":
      return verifyCheckpoint(state, line);
    case "end":
      return verifyEnd(state, line);
  }
}

async function verifyLink(state: VerificationState, link: AuditLink): Promise<void> {
  const expected = state.seq + 1;
  if (link.seq > expected) throw new InvalidChain(expected, "record missing");
  if (link.seq < expected) throw new InvalidChain(link.seq, "duplicate record");
  if (link.previous !== state.hash)
    throw new InvalidChain(expected, "previous hash does not match the record before it");
  if (link.body !== null && (await hashBody(link.body)) !== link.body_hash)
    throw new InvalidChain(expected, "content does not match what was recorded");
  if ((await hashLink(state.chain, link)) !== link.hash)
    throw new InvalidChain(expected, "hash does not match the record");
  const at = microsecondsOf(link.at);
  if (at < state.at) throw new InvalidChain(expected, "timestamp is earlier than the record before it");
  Object.assign(state, { seq: expected, hash: link.hash, at });
  while (state.pending[0]?.seq === expected) {
    const checkpoint = state.pending.shift();
    if (checkpoint?.hash !== link.hash)
      throw new InvalidChain(expected, "record does not match a trusted checkpoint");
    state.checkpoints += 1;
  }
}

async function verifyCheckpoint(state: VerificationState, checkpoint: Checkpoint): Promise<void> {
  if (checkpoint.seq > state.seq) throw new InvalidChain(state.seq + 1, "record missing");
  if (checkpoint.chain !== state.chain || checkpoint.seq < state.seq)
    throw new InvalidChain(state.seq, "checkpoint after it belongs to another record");
  if (checkpoint.hash !== state.hash)
    throw new InvalidChain(state.seq, "record does not match its checkpoint");
  if (!(await state.isSigned(checkpoint)))
    throw new InvalidChain(state.seq, "checkpoint is not signed by a key of this log");
  state.checkpoints += 1;
}

function verifyEnd(
  state: VerificationState,
  { seq, hash }: { readonly seq: number; readonly hash: string },
): void {
  const [checkpoint] = state.pending;
  if (checkpoint !== undefined)
    throw new InvalidChain(
      state.seq + 1,
      `record missing: a trusted checkpoint exists for record ${checkpoint.seq}, so the log was rolled back`,
    );
  if (seq > state.seq)
    throw new InvalidChain(state.seq + 1, `record missing: the log ends with record ${seq}`);
  if (seq < state.seq) throw new InvalidChain(seq + 1, `extra record: the log ends with record ${seq}`);
  if (hash !== state.hash) throw new InvalidChain(state.seq, "record is not the recorded end of the log");
  state.isComplete = true;
}
