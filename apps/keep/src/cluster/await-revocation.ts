import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "../database/open-database.ts";
import { requestFailure } from "../failures.ts";
import { countBehind, readDatabaseMoment } from "./queries.ts";

const patienceMilliseconds = 5000;
const lookAgainMilliseconds = 25;

/** Settles when no living node remembers what was revoked before this call; fails when that cannot be shown in time. */
export async function awaitRevocation(database: Pick<Database, "ask">): Promise<void> {
  const moment = await readDatabaseMoment(database);
  const deadline = performance.now() + patienceMilliseconds;
  while ((await countBehind(database, moment)) > 0) {
    if (performance.now() > deadline) throw requestFailure({ kind: "nodes-behind" });
    await sleep(lookAgainMilliseconds);
  }
}
