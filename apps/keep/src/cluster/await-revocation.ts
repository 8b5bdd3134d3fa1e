import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "../database/open-database.ts";
import { requestFailure } from "../failures.ts";
import { countLaggingNodes, readDatabaseTime } from "./queries.ts";

const timeoutMilliseconds = 5000;
const pollMilliseconds = 25;

/** Resolves when every live node has processed the revocations committed before this call; throws after a timeout. */
export async function awaitRevocation(database: Pick<Database, "query">): Promise<void> {
  const revokedBefore = await readDatabaseTime(database);
  const deadline = performance.now() + timeoutMilliseconds;
  while ((await countLaggingNodes(database, revokedBefore)) > 0) {
    if (performance.now() > deadline) throw requestFailure({ kind: "nodes-behind" });
    await sleep(pollMilliseconds);
  }
}
