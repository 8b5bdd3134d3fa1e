import { type Answer, jsonAnswer } from "@hearth-and-keep/http-service";

export type HealthParts = { readonly isDatabaseReady: () => Promise<boolean> };

/** Whether the process lives; says nothing about what it depends on, so that a restart is never the answer to that. */
export function answerAlive(): Answer {
  return jsonAnswer({ status: "alive" });
}

/** Whether this node can serve requests now; a load balancer takes it out while it cannot. */
export async function answerReady({ isDatabaseReady }: HealthParts): Promise<Answer> {
  if (await isDatabaseReady()) return jsonAnswer({ status: "ready" });
  return jsonAnswer({ status: "not ready", reason: "the database does not answer" }, 503);
}
