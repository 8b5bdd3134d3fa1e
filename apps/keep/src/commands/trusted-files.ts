import { readFile } from "node:fs/promises";
import { type Checkpoint, type CheckpointKey, readExportLine } from "@hearth-and-keep/audit-chain";
import { auditKeys } from "@hearth-and-keep/vault-contract";
import { Type } from "typebox";
import { Value } from "typebox/value";

export const exitCodes = { valid: 0, invalid: 1, unreadable: 2 } as const;

export type VerificationRequest = {
  /** A response of GET …/audit/keys, stored separately from the log to verify. */
  readonly keysFile?: string | undefined;
  /** The checkpoint file written by `keep serve`. */
  readonly checkpointsFile?: string | undefined;
};

export type TrustedFiles = {
  readonly keys: readonly CheckpointKey[] | undefined;
  /** Signed notes. */
  readonly checkpoints: readonly string[];
  readonly chainCheckpoints: readonly Checkpoint[];
};

/** Undefined, after a message, when a file does not contain what it should. */
export async function readTrustedMaterial(
  { keysFile, checkpointsFile }: VerificationRequest,
  print: (line: string) => void,
): Promise<TrustedFiles | undefined> {
  const keys = keysFile === undefined ? undefined : await readKeysFile(keysFile);
  const checkpoints =
    checkpointsFile === undefined ? emptyCheckpoints : await readCheckpointsFile(checkpointsFile);
  if (keysFile !== undefined && keys === undefined) {
    print(`Cannot verify: the file "${keysFile}" does not contain audit keys`);
    return undefined;
  }
  if (checkpoints === undefined) {
    print(`Cannot verify: the file "${checkpointsFile}" does not contain audit checkpoints`);
    return undefined;
  }
  return { keys, ...checkpoints };
}

async function readKeysFile(path: string): Promise<readonly CheckpointKey[] | undefined> {
  try {
    const value: unknown = JSON.parse(await readFile(path, "utf8"));
    return Value.Check(auditKeys, value) ? value.keys : undefined;
  } catch {
    return undefined;
  }
}

type FileCheckpoints = Omit<TrustedFiles, "keys">;

const emptyCheckpoints: FileCheckpoints = { checkpoints: [], chainCheckpoints: [] };
const noteLine = Type.Object({ type: Type.Literal("log-checkpoint"), note: Type.String() });

/** An incomplete last line was cut off by a crash; the server appended that checkpoint again. */
async function readCheckpointsFile(path: string): Promise<FileCheckpoints | undefined> {
  const text = await readFile(path, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  const checkpoints: string[] = [];
  const chainCheckpoints: Checkpoint[] = [];
  for (const line of text.slice(0, text.lastIndexOf("\n") + 1).split("\n")) {
    if (line === "") continue;
    const note = readNoteLine(line);
    const ofChain = readExportLine(line);
    if (note !== undefined) checkpoints.push(note);
    else if (ofChain?.type === "checkpoint") chainCheckpoints.push(ofChain);
    else return undefined;
  }
  return { checkpoints, chainCheckpoints };
}

function readNoteLine(line: string): string | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return Value.Check(noteLine, value) ? value.note : undefined;
  } catch {
    return undefined;
  }
}
