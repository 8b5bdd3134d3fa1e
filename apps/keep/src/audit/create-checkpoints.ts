import { checkpointMessage, writeExportLine } from "@hearth-and-keep/audit-chain";
import type { Database } from "../database/open-database.ts";
import type { ServerKeys } from "../keys/server-keys.ts";
import type { CheckpointFile } from "./checkpoint-file.ts";
import {
  type ChainRef,
  listUncheckedChains,
  readUncheckedHead,
  recordCheckpoint,
  type UncheckedChain,
} from "./queries.ts";

export type CheckpointDependencies = {
  readonly database: Pick<Database, "acrossAccounts" | "queryInAccount" | "inAccount">;
  readonly serverKeys: Pick<ServerKeys, "sign">;
  /** The checkpoint file outside the database, if one is configured. */
  readonly file: CheckpointFile | undefined;
  readonly onFileFailed: () => void;
};

/** A chain with this many new events gets a checkpoint before its scheduled time. */
const maxUncheckedEvents = 1000;

/** The maximum age of unchecked events, and the interval at which fast-growing chains are looked for. */
export type CheckpointSchedule = { readonly maxAgeSeconds: number; readonly pollSeconds: number };

export function checkpointSchedule(seconds: number): CheckpointSchedule {
  return { maxAgeSeconds: seconds, pollSeconds: Math.min(seconds, 5) };
}

/** One pass over all chains. Every node runs it; the first one to reach a chain creates its checkpoint. */
export function createCheckpointTask(
  schedule: CheckpointSchedule,
  dependencies: CheckpointDependencies,
): () => Promise<void> {
  let allDueAt = 0;
  return async () => {
    const isAllDue = performance.now() >= allDueAt;
    if (isAllDue) allDueAt = performance.now() + (schedule.maxAgeSeconds - schedule.pollSeconds / 2) * 1000;
    const minUnchecked = isAllDue ? 1 : maxUncheckedEvents;
    let last: UncheckedChain | undefined;
    do {
      const chains = await listUncheckedChains(dependencies.database, minUnchecked, last);
      for (const { accountId, chain } of chains)
        await createCheckpoint({ accountId, chain }, schedule, dependencies);
      last = chains.at(-1);
    } while (last !== undefined);
  };
}

/** Appended to the file before it is recorded: a crash in between duplicates a line but never loses one. */
async function createCheckpoint(
  chainRef: ChainRef,
  { maxAgeSeconds }: CheckpointSchedule,
  { database, serverKeys, file, onFileFailed }: CheckpointDependencies,
): Promise<void> {
  const head = await readUncheckedHead(database, chainRef, {
    maxUncheckedEvents,
    seconds: maxAgeSeconds / 2,
  });
  if (head === undefined) return;
  const content = { chain: chainRef.chain, seq: Number(head.seq), hash: head.hash };
  const { signature, keyVersion } = serverKeys.sign(checkpointMessage(content));
  const checkpoint = { ...content, key_version: keyVersion, signature: signature.toString("base64") };
  if (file !== undefined && !(await file.append(writeExportLine({ type: "checkpoint", ...checkpoint })))) {
    onFileFailed();
  }
  await recordCheckpoint(database, chainRef, checkpoint);
}
