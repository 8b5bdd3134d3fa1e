import { createReadStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import {
  type Checkpoint,
  type CheckpointKey,
  readExportLine,
  type TrustedMaterial,
  type VerificationResult,
  verifyChain,
} from "@hearth-and-keep/audit-chain";
import { auditKeys } from "@hearth-and-keep/vault-contract";
import { Value } from "typebox/value";
import { exportLog } from "../audit/export-log.ts";
import { type ChainRef, listAllChains } from "../audit/queries.ts";
import type { Database } from "../database/open-database.ts";
import { listServerKeys } from "../keys/queries.ts";
import { storedPublicKeys } from "../keys/server-keys.ts";

export type VerificationRequest = {
  /** A response of GET …/audit/keys, stored separately from the log to verify. */
  readonly keysFile?: string | undefined;
  /** The checkpoint file written by `keep serve`. */
  readonly checkpointsFile?: string | undefined;
};

export type VerificationDependencies = { readonly print: (line: string) => void };

const exitCodes = { valid: 0, invalid: 1, unreadable: 2 } as const;

/** Verifies an export offline. Returns the exit code. */
export async function verifyExport(
  exportFile: string,
  request: VerificationRequest,
  { print }: VerificationDependencies,
): Promise<number> {
  const trusted = await readTrustedMaterial(request, print);
  if (trusted === undefined) return exitCodes.unreadable;
  const lines = createInterface({ input: createReadStream(exportFile, "utf8"), crlfDelay: Infinity });
  const result = await verifyChain(lines, trusted).catch(() => undefined);
  if (result === undefined) {
    print(`Cannot verify: the file "${exportFile}" cannot be read`);
    return exitCodes.unreadable;
  }
  print(describeResult(result));
  if (result.isValid && trusted.keys === undefined && result.checkpoints > 0) {
    print("Signatures were verified with the keys in the export itself; pass trusted keys with --keys");
  }
  return result.isValid ? exitCodes.valid : exitCodes.invalid;
}

export type DatabaseVerificationDependencies = VerificationDependencies & { readonly database: Database };

/** Verifies every chain of a database, and that every chain with a trusted checkpoint exists. */
export async function verifyDatabase(
  request: VerificationRequest,
  dependencies: DatabaseVerificationDependencies,
): Promise<number> {
  const { database, print } = dependencies;
  const trusted = await readTrustedMaterial(request, print);
  if (trusted === undefined) return exitCodes.unreadable;
  const serverKeys = { publicKeys: storedPublicKeys(await listServerKeys(database)) };
  const missing = new Set(trusted.checkpoints?.map(({ chain }) => chain));
  let valid = 0;
  let broken = 0;
  for await (const chainRef of chainsOf(database)) {
    const chunks = exportLog(chainRef, { database, serverKeys });
    const result = await verifyChain(linesOf(chunks), trusted);
    missing.delete(chainRef.chain);
    if (result.isValid) valid += 1;
    else {
      broken += 1;
      print(describeResult(result));
    }
  }
  for (const chain of missing) {
    print(`Log ${chain} is missing: a trusted checkpoint refers to it, so the database was rolled back`);
  }
  print(`${valid} of ${valid + broken + missing.size} logs verified`);
  if (request.keysFile === undefined) {
    print("Signatures were verified with the keys in the database; pass trusted keys with --keys");
  }
  if (request.checkpointsFile === undefined) {
    print("A database that was rolled back is not detected; pass trusted checkpoints with --checkpoints");
  }
  return broken + missing.size === 0 ? exitCodes.valid : exitCodes.invalid;
}

async function* chainsOf(database: Database): AsyncGenerator<ChainRef> {
  let last: ChainRef | undefined;
  do {
    const chains = await listAllChains(database, last?.chain ?? null);
    yield* chains;
    last = chains.at(-1);
  } while (last !== undefined);
}

function describeResult(result: VerificationResult): string {
  if (result.isValid) {
    return `Log ${result.chain} verified, no changes detected (records: ${result.links}, checkpoints: ${result.checkpoints})`;
  }
  const log = result.chain === undefined ? "The file" : `Log ${result.chain}`;
  const position = result.seq === undefined ? `line ${result.line}` : `record ${result.seq}`;
  return `${log} failed verification at ${position}: ${result.reason}`;
}

async function readTrustedMaterial(
  { keysFile, checkpointsFile }: VerificationRequest,
  print: (line: string) => void,
): Promise<TrustedMaterial | undefined> {
  const keys = keysFile === undefined ? undefined : await readKeysFile(keysFile);
  const checkpoints = checkpointsFile === undefined ? [] : await readCheckpointsFile(checkpointsFile);
  if (keysFile !== undefined && keys === undefined) {
    print(`Cannot verify: the file "${keysFile}" does not contain audit keys`);
    return undefined;
  }
  if (checkpoints === undefined) {
    print(`Cannot verify: the file "${checkpointsFile}" does not contain audit checkpoints`);
    return undefined;
  }
  return { keys, checkpoints };
}

async function readKeysFile(path: string): Promise<readonly CheckpointKey[] | undefined> {
  try {
    const value: unknown = JSON.parse(await readFile(path, "utf8"));
    return Value.Check(auditKeys, value) ? value.keys : undefined;
  } catch {
    return undefined;
  }
}

/** An incomplete last line was cut off by a crash; the server appended that checkpoint again. */
async function readCheckpointsFile(path: string): Promise<readonly Checkpoint[] | undefined> {
  const text = await readFile(path, "utf8").catch(() => undefined);
  const lines = text?.slice(0, text.lastIndexOf("\n") + 1).split("\n");
  const parsed = lines?.filter((line) => line !== "").map(readExportLine);
  const checkpoints = parsed?.filter((line) => line?.type === "checkpoint");
  return checkpoints?.length === parsed?.length ? checkpoints : undefined;
}

async function* linesOf(chunks: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const chunk of chunks) yield* chunk.split("\n");
}
