import type { Database } from "./open-database.ts";

const probeSeconds = 2;

/** Whether the database answers a trivial question soon enough to serve requests, and would take a write. */
export async function answersQuestions(database: Pick<Database, "ask">): Promise<boolean> {
  const impatience = new Promise<false>((resolve) => {
    setTimeout(resolve, probeSeconds * 1000, false).unref();
  });
  const question = database.ask<{ standby: boolean }>({ text: "SELECT pg_is_in_recovery() AS standby" }).then(
    ([row]) => row?.standby === false,
    () => false,
  );
  return Promise.race([question, impatience]);
}
