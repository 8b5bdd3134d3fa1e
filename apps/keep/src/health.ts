import { type Answer, jsonAnswer } from "@hearth-and-keep/http-service";

/** Says in plain words why this node cannot serve; undefined when nothing of the kind is the matter. */
export type ReadinessCheck = () => Promise<string | undefined>;

export type HealthParts = { readonly readinessChecks: readonly ReadinessCheck[] };

/** Whether the process lives; says nothing about what it depends on, so that a restart is never the answer to that. */
export function answerAlive(): Answer {
  return jsonAnswer({ status: "alive" });
}

const patienceSeconds = 2;

/** Whether this node can serve requests now; a load balancer takes it out while it cannot. */
export async function answerReady({ readinessChecks }: HealthParts): Promise<Answer> {
  const reasons = await Promise.all(readinessChecks.map(askInTime));
  const reason = reasons.find((each) => each !== undefined);
  if (reason === undefined) return jsonAnswer({ status: "ready" });
  return jsonAnswer({ status: "not ready", reason }, 503);
}

async function askInTime(check: ReadinessCheck): Promise<string | undefined> {
  const { promise: impatience, resolve } = Promise.withResolvers<string>();
  const timer = setTimeout(resolve, patienceSeconds * 1000, databaseIsAway);
  try {
    return await Promise.race([check().catch(() => databaseIsAway), impatience]);
  } finally {
    clearTimeout(timer);
  }
}

/** What every check depends on, and so what one that does not end means. */
const databaseIsAway = "the database does not answer";
