import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { type Checkpoint, type CheckpointKey, verifyChain } from "@hearth-and-keep/audit-chain";
import { type AuditVerification, verifyAuditExport } from "@hearth-and-keep/audit-records";
import { sha256 } from "../audit/bytes.ts";
import { exportChain } from "../audit/chains/export-chain.ts";
import { type ChainRef, listAllChains, readHead } from "../audit/chains/queries.ts";
import { describeKeys } from "../audit/export/export-stream.ts";
import { verifyLogs } from "../audit/verify/verify-logs.ts";
import type { Database } from "../database/open-database.ts";
import type { KeyWrapper } from "../keys/key-wrapper.ts";
import { listServerKeys } from "../keys/queries.ts";
import { storedPublicKeys } from "../keys/server-keys.ts";
import { verifyRows } from "../keys/verify-rows/verify-rows.ts";
import { verifyServerKeys } from "../keys/verify-rows/verify-server-keys.ts";
import { exitCodes, readTrustedMaterial, type VerificationRequest } from "./trusted-files.ts";
import { verifyArchiveFiles } from "./verify-archives.ts";

/** With the archive files of the months that are no longer in the database, if they are to be verified with it. */
export type DatabaseVerificationRequest = VerificationRequest & { readonly archiveFiles?: readonly string[] };

export type VerificationDependencies = { readonly print: (line: string) => void };

/** Verifies an export offline. Returns the exit code. */
export async function verifyExport(
  exportFile: string,
  request: VerificationRequest,
  { print }: VerificationDependencies,
): Promise<number> {
  const trusted = await readTrustedMaterial(request, print);
  if (trusted === undefined) return exitCodes.unreadable;
  const lines = createInterface({ input: createReadStream(exportFile, "utf8"), crlfDelay: Infinity });
  const result = await verifyAuditExport(lines, trusted, sha256).catch(() => undefined);
  if (result === undefined) {
    print(`Cannot verify: the file "${exportFile}" cannot be read`);
    return exitCodes.unreadable;
  }
  print(describeResult(result));
  if (result.isValid && trusted.keys === undefined)
    print("Signatures were verified with the keys in the export itself; pass trusted keys with --keys");
  return result.isValid ? exitCodes.valid : exitCodes.invalid;
}

export type DatabaseVerificationDependencies = VerificationDependencies & {
  readonly database: Database;
  /** Without the encryption key, only the logs are verified. */
  readonly wrapper?: KeyWrapper | undefined;
};

/** Verifies the logs of all nodes, the chains that earlier versions left, and the rows that decide who reads what. */
export async function verifyDatabase(
  request: DatabaseVerificationRequest,
  { database, wrapper, print }: DatabaseVerificationDependencies,
): Promise<number> {
  const trusted = await readTrustedMaterial(request, print);
  if (trusted === undefined) return exitCodes.unreadable;
  const storedKeys = describeKeys({ publicKeys: storedPublicKeys(await listServerKeys(database)) });
  const { keys = storedKeys, checkpoints, chainCheckpoints } = trusted;
  const archives = await verifyArchiveFiles(request.archiveFiles ?? [], { ...trusted, keys }, print);
  if (archives === undefined) return exitCodes.unreadable;
  let findings = 0;
  const report = (finding: string): void => {
    findings += 1;
    print(finding);
  };
  const chains = await verifyChains({ keys, checkpoints: chainCheckpoints }, { database, print });
  const rowKeys = wrapper && (await verifyServerKeys({ database, wrapper, report }));
  const isWithArchives = request.archiveFiles !== undefined;
  const logs = await verifyLogs(
    { keys, trustedNotes: checkpoints, archives: isWithArchives ? archives.trees : undefined },
    { database, rowMacs: rowKeys?.rowMacs },
  );
  for (const finding of logs.findings) report(finding);
  const rows = wrapper && rowKeys && (await verifyRows({ database, wrapper, keys: rowKeys, report }));
  print(
    `Logs: ${logs.logs}, records: ${logs.records}, checkpoints: ${logs.checkpoints}, trusted: ${logs.trusted}`,
  );
  if (logs.archived > 0 && !isWithArchives)
    print(`${logs.archived} records are archived; verify their files with --archive`);
  if (logs.olderTrusted > 0)
    print(`${logs.olderTrusted} trusted checkpoints are older than the kept records and were not compared`);
  if (chains.verified + chains.broken > 0)
    print(`Chains of earlier versions: ${chains.verified} of ${chains.verified + chains.broken} verified`);
  if (rows !== undefined)
    print(`Accounts: ${rows.accounts}, vaults: ${rows.vaults}, secrets: ${rows.secrets}`);
  for (const limit of limitsOf(request, wrapper)) print(limit);
  const changes = findings + chains.broken + archives.broken;
  print(changes === 0 ? "No changes detected" : `Changes detected: ${changes}`);
  return changes === 0 ? exitCodes.valid : exitCodes.invalid;
}

/** What the verification does not show, for lack of something trusted. */
function limitsOf(request: VerificationRequest, wrapper: KeyWrapper | undefined): readonly string[] {
  return [
    ...(wrapper === undefined
      ? ["Accounts, tokens, vaults and secrets were not verified; set KEEP_ENCRYPTION_KEY to verify them"]
      : []),
    ...(request.keysFile === undefined
      ? ["Signatures were verified with the keys in the database; pass trusted keys with --keys"]
      : []),
    ...(request.checkpointsFile === undefined
      ? ["A database that was rolled back is not detected; pass trusted checkpoints with --checkpoints"]
      : []),
  ];
}

type TrustedForChains = {
  readonly keys: readonly CheckpointKey[];
  readonly checkpoints: readonly Checkpoint[];
};

/** Also that every chain with a trusted checkpoint exists. */
async function verifyChains(
  trusted: TrustedForChains,
  { database, print }: DatabaseVerificationDependencies,
): Promise<{ readonly verified: number; readonly broken: number }> {
  const missing = new Set(trusted.checkpoints.map(({ chain }) => chain));
  let [verified, broken] = [0, 0];
  for await (const chainRef of chainsOf(database)) {
    const head = await readHead(database, chainRef);
    if (head === undefined) continue;
    missing.delete(chainRef.chain);
    const chunks = exportChain(chainRef, { head, keys: trusted.keys, database });
    const result = await verifyChain(linesOf(chunks), trusted);
    if (result.isValid) verified += 1;
    else {
      broken += 1;
      print(`Chain ${chainRef.chain} failed verification at record ${result.seq}: ${result.reason}`);
    }
  }
  for (const chain of missing)
    print(`Chain ${chain} is missing: a trusted checkpoint refers to it, so the database was rolled back`);
  return { verified, broken: broken + missing.size };
}

async function* chainsOf(database: Database): AsyncGenerator<ChainRef> {
  let last: ChainRef | undefined;
  do {
    const chains = await listAllChains(database, last?.chain ?? null);
    yield* chains;
    last = chains.at(-1);
  } while (last !== undefined);
}

function describeResult(result: AuditVerification): string {
  if (result.isValid) {
    const { stream, records, carriedOver, logs, trustedCheckpoints } = result;
    const isArchived = logs.some(({ archivedBefore }) => archivedBefore !== undefined);
    const older = isArchived ? ", older records are archived" : "";
    return `Log ${stream} verified, no changes detected (records: ${records + carriedOver}${older}, node logs: ${logs.length}, trusted checkpoints: ${trustedCheckpoints})`;
  }
  const log = result.stream === undefined ? "The file" : `Log ${result.stream}`;
  const position = result.record === undefined ? `line ${result.line}` : `record ${result.record}`;
  return `${log} failed verification at ${position}: ${result.reason}`;
}

async function* linesOf(chunks: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const chunk of chunks) yield* chunk.split("\n");
}
