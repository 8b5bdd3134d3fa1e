import type { Database } from "./open-database.ts";

const probeSeconds = 2;

/** Whether the database answers a trivial question soon enough to serve requests. */
export async function answersQuestions({ pool }: Pick<Database, "pool">): Promise<boolean> {
  const impatience = new Promise<false>((resolve) => {
    setTimeout(resolve, probeSeconds * 1000, false).unref();
  });
  const question = pool.query("SELECT 1").then(
    () => true,
    () => false,
  );
  return Promise.race([question, impatience]);
}
