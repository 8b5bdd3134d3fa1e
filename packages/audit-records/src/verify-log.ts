import type { CheckpointKey } from "@hearth-and-keep/audit-chain";
import {
  type Bytes,
  type Checkpoint,
  equalBytes,
  parseCheckpoint,
  parseNote,
  verifyCheckpoint,
} from "@hearth-and-keep/transparency-log";
import { includesKey, type NamedKey, nameKeys } from "./checkpoint-keys.ts";
import { InvalidExport } from "./invalid-export.ts";

export type LogTrust = {
  /** Keys whose signatures are accepted. */
  readonly keys: readonly CheckpointKey[];
  /** Keys that the export lists. */
  readonly listedKeys: readonly CheckpointKey[];
  readonly checkpoints: readonly TrustedCheckpoint[];
};

/** A note that was stored elsewhere, and the log that it names; its signature is verified with that log's key names. */
export type TrustedCheckpoint = { readonly origin: string; readonly note: string };

export function readTrustedCheckpoints(notes: readonly string[]): readonly TrustedCheckpoint[] {
  return notes.map((note) => {
    const origin = parseCheckpoint(parseNote(note)?.text ?? "")?.origin;
    if (origin === undefined) throw new InvalidExport("a trusted checkpoint is not a signed checkpoint");
    return { origin, note };
  });
}

export type LogCheckpoint = Pick<Checkpoint, "origin" | "size" | "root"> & {
  /** Trusted checkpoints that were compared with it. */
  readonly compared: number;
};

/** Verifies the checkpoint of one log, and compares it with the trusted ones. */
export async function verifyLog(
  { origin, note }: { readonly origin: string; readonly note: string },
  trust: LogTrust,
): Promise<LogCheckpoint> {
  const keys = await nameKeys(trust.keys, origin);
  const log = { origin, keys: keys.map(({ key }) => key) };
  const checkpoint = await verifyCheckpoint(note, log);
  if (checkpoint === undefined)
    throw new InvalidExport("the checkpoint is not one of this log, or is not signed by a key of this log");
  verifyKeysAreListed(note, keys, trust.listedKeys);
  const { size, root } = checkpoint;
  let compared = 0;
  for (const trusted of trust.checkpoints.filter((each) => each.origin === origin)) {
    const verified = await verifyCheckpoint(trusted.note, log);
    if (verified === undefined)
      throw new InvalidExport("a trusted checkpoint is not signed by a key of this log");
    if (isCompared({ size, root }, verified)) compared += 1;
  }
  return { origin, size, root, compared };
}

/** The sizes must be equal for that: the export contains no proof of consistency with a smaller tree. */
function isCompared(exported: Tree, trusted: Tree): boolean {
  if (trusted.size > exported.size)
    throw new InvalidExport(
      `the log was rolled back: a trusted checkpoint has ${trusted.size} records, the export's only ${exported.size}`,
    );
  if (trusted.size < exported.size) return false;
  if (!equalBytes(trusted.root, exported.root))
    throw new InvalidExport("the log does not match a trusted checkpoint of the same size");
  return true;
}

type Tree = { readonly size: number; readonly root: Bytes };

/** Finds changed keys in an export that is verified with other keys than its own. */
function verifyKeysAreListed(
  note: string,
  keys: readonly NamedKey[],
  listedKeys: readonly CheckpointKey[],
): void {
  const signers = keys.filter(({ key }) =>
    parseNote(note)?.signatures.some(({ name, keyId }) => name === key.name && keyId === key.id),
  );
  if (!signers.every(({ listed }) => includesKey(listedKeys, listed)))
    throw new InvalidExport("the checkpoint is signed by a key that the export does not list");
}
