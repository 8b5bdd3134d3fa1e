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
import { publicKeysOf } from "../keys/server-keys.ts";

export type VerificationRequest = {
  /** What GET …/audit/keys answered, kept apart from what is verified. */
  readonly keysFile?: string | undefined;
  /** What `keep serve` wrote into its checkpoint file. */
  readonly checkpointsFile?: string | undefined;
};

export type VerificationDependencies = { readonly print: (sentence: string) => void };

const verificationCodes = { isSound: 0, isNot: 1, unreadable: 2 } as const;

/** Checks an export; needs neither a server nor a database. Gives the exit code. */
export async function verifyExport(
  exportFile: string,
  asked: VerificationRequest,
  { print }: VerificationDependencies,
): Promise<number> {
  const trust = await readTrust(asked, print);
  if (trust === undefined) return verificationCodes.unreadable;
  const lines = createInterface({ input: createReadStream(exportFile, "utf8"), crlfDelay: Infinity });
  const verdict = await verifyChain(lines, trust).catch(() => undefined);
  if (verdict === undefined) {
    print(`Cannot verify: the file "${exportFile}" cannot be read`);
    return verificationCodes.unreadable;
  }
  print(describeVerdict(verdict));
  if (verdict.isValid && trust.keys === undefined && verdict.checkpoints > 0) {
    print("Signatures were checked with the keys in the export itself; name others with --keys");
  }
  return verdict.isValid ? verificationCodes.isSound : verificationCodes.isNot;
}

export type DatabaseVerificationDependencies = VerificationDependencies & { readonly database: Database };

/** Checks every chain of a database, and that none is missing which a checkpoint kept apart speaks of. */
export async function verifyDatabase(
  asked: VerificationRequest,
  parts: DatabaseVerificationDependencies,
): Promise<number> {
  const { database, print } = parts;
  const trust = await readTrust(asked, print);
  if (trust === undefined) return verificationCodes.unreadable;
  const serverKeys = { publicKeys: publicKeysOf(await listServerKeys(database)) };
  const missing = new Set(trust.checkpoints?.map(({ chain }) => chain));
  let sound = 0;
  let broken = 0;
  for await (const place of chainsOf(database)) {
    const pieces = exportLog(place, { database, serverKeys });
    const verdict = await verifyChain(linesOf(pieces), trust);
    missing.delete(place.chain);
    if (verdict.isValid) sound += 1;
    else {
      broken += 1;
      print(describeVerdict(verdict));
    }
  }
  for (const chain of missing) {
    print(`The log ${chain} is missing: a checkpoint kept apart speaks of it, so this database was put back`);
  }
  print(`Of ${sound + broken + missing.size} logs ${sound} are as they were recorded`);
  return broken + missing.size === 0 ? verificationCodes.isSound : verificationCodes.isNot;
}

async function* chainsOf(database: Database): AsyncGenerator<ChainRef> {
  let last: ChainRef | undefined;
  do {
    const chains = await listAllChains(database, last?.chain ?? null);
    yield* chains;
    last = chains.at(-1);
  } while (last !== undefined);
}

function describeVerdict(verdict: VerificationResult): string {
  if (verdict.isValid) {
    return `The log ${verdict.chain} is as it was recorded: ${verdict.links} rows, ${verdict.checkpoints} checkpoints`;
  }
  const log = verdict.chain === undefined ? "This file" : `The log ${verdict.chain}`;
  const row = verdict.seq === undefined ? `line ${verdict.line}` : `row ${verdict.seq}`;
  return `${log} is not as it was recorded. The first bad one is ${row}: ${verdict.reason}`;
}

async function readTrust(
  { keysFile, checkpointsFile }: VerificationRequest,
  print: (sentence: string) => void,
): Promise<TrustedMaterial | undefined> {
  const keys = keysFile === undefined ? undefined : await readKeysFile(keysFile);
  const checkpoints = checkpointsFile === undefined ? [] : await readCheckpointsFile(checkpointsFile);
  if (keysFile !== undefined && keys === undefined) {
    print(`Cannot verify: the file "${keysFile}" does not hold the keys of an audit log`);
    return undefined;
  }
  if (checkpoints === undefined) {
    print(`Cannot verify: the file "${checkpointsFile}" does not hold checkpoints of an audit log`);
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

/** The last line may be half written: whoever wrote it was stopped, and made it again. */
async function readCheckpointsFile(path: string): Promise<readonly Checkpoint[] | undefined> {
  const text = await readFile(path, "utf8").catch(() => undefined);
  const lines = text?.slice(0, text.lastIndexOf("\n") + 1).split("\n");
  const parsed = lines?.filter((line) => line !== "").map(readExportLine);
  const checkpoints = parsed?.filter((line) => line?.type === "checkpoint");
  return checkpoints?.length === parsed?.length ? checkpoints : undefined;
}

async function* linesOf(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const piece of pieces) yield* piece.split("\n");
}
