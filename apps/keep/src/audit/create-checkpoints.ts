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
  readonly database: Pick<Database, "acrossAccounts" | "askInAccount" | "inAccount">;
  readonly serverKeys: Pick<ServerKeys, "sign">;
  /** Kept apart from the database; none when nobody asked for it. */
  readonly file: CheckpointFile | undefined;
  readonly onFileFailed: () => void;
};

/** A chain that grows so fast does not wait for its time. */
const mostUnchecked = 1000;

/** How long a chain may grow without a checkpoint, and how often this looks for those that grow fast. */
export type CheckpointPace = { readonly seconds: number; readonly lookSeconds: number };

export function paceOf(seconds: number): CheckpointPace {
  return { seconds, lookSeconds: Math.min(seconds, 5) };
}

/** One look at all chains; every node looks, and whichever comes first makes a chain's checkpoint. */
export function createCheckpointing(
  pace: CheckpointPace,
  parts: CheckpointDependencies,
): () => Promise<void> {
  let allDueAt = 0;
  return async () => {
    const isAllDue = performance.now() >= allDueAt;
    if (isAllDue) allDueAt = performance.now() + (pace.seconds - pace.lookSeconds / 2) * 1000;
    const least = isAllDue ? 1 : mostUnchecked;
    let last: UncheckedChain | undefined;
    do {
      const chains = await listUncheckedChains(parts.database, least, last);
      for (const { accountId, chain } of chains) await makeCheckpoint({ accountId, chain }, pace, parts);
      last = chains.at(-1);
    } while (last !== undefined);
  };
}

/** Written down outside before it counts as made: what is lost in between is written twice, never not at all. */
async function makeCheckpoint(
  place: ChainRef,
  { seconds }: CheckpointPace,
  { database, serverKeys, file, onFileFailed }: CheckpointDependencies,
): Promise<void> {
  const head = await readUncheckedHead(database, place, { mostUnchecked, seconds: seconds / 2 });
  if (head === undefined) return;
  const named = { chain: place.chain, seq: Number(head.seq), hash: head.hash };
  const { signature, keyVersion } = serverKeys.sign(checkpointMessage(named));
  const checkpoint = { ...named, key_version: keyVersion, signature: signature.toString("base64") };
  if (file !== undefined && !(await file.append(writeExportLine({ type: "checkpoint", ...checkpoint })))) {
    onFileFailed();
  }
  await recordCheckpoint(database, place, checkpoint);
}
