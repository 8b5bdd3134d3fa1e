import { dirname, join } from "node:path";
import { type OwnedProcess, startProcess } from "../owned-process.ts";
import { makeTemporaryFolder } from "../temporary-folder.ts";
import { findPostgresPrograms } from "./postgres-programs.ts";
import type { Postgres } from "./start-postgres.ts";

export type Standby = AsyncDisposable & Pick<OwnedProcess, "pid">;

/**
 * A synchronous standby as far as the primary can see: it receives the write-ahead log, flushes it to its own folder and
 * confirms each commit. The name is what `synchronous_standby_names` lists.
 */
export async function startStandby(primary: Pick<Postgres, "url">, name: string): Promise<Standby> {
  const { postgres } = await findPostgresPrograms();
  await using undo = new AsyncDisposableStack();
  const folder = undo.use(await makeTemporaryFolder("standby"));
  const url = `${primary.url("postgres")}?application_name=${encodeURIComponent(name)}`;
  const receiver = undo.use(
    await startProcess({
      command: join(dirname(postgres), "pg_receivewal"),
      arguments: ["--dbname", url, "--directory", folder.path, "--synchronous", "--verbose"],
      isReady: (output) => output.includes("starting log streaming"),
    }),
  );
  const owned = undo.move();
  return { pid: receiver.pid, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
