import { type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";

/** Resolves to the reason why this node cannot serve requests, or undefined when it can. */
export type ReadinessCheck = () => Promise<string | undefined>;

export type HealthDependencies = { readonly readinessChecks: readonly ReadinessCheck[] };

/** Liveness. Ignores dependencies, so that an orchestrator does not restart the process when the database is down. */
export function handleAlive(): HttpResponse {
  return jsonResponse({ status: "alive" });
}

const checkTimeoutSeconds = 2;

/** Readiness. Load balancers send no requests to a node that is not ready. */
export async function handleReady(
  _request: unknown,
  { readinessChecks }: HealthDependencies,
): Promise<HttpResponse> {
  const reasons = await Promise.all(readinessChecks.map(runWithTimeout));
  const reason = reasons.find((each) => each !== undefined);
  if (reason === undefined) return jsonResponse({ status: "ready" });
  return jsonResponse({ status: "not ready", reason }, 503);
}

async function runWithTimeout(check: ReadinessCheck): Promise<string | undefined> {
  const { promise: timeout, resolve } = Promise.withResolvers<string>();
  const timer = setTimeout(resolve, checkTimeoutSeconds * 1000, databaseUnavailable);
  try {
    return await Promise.race([check().catch(() => databaseUnavailable), timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/** Every check queries the database, so a check that fails or hangs means this. */
const databaseUnavailable = "the database does not respond";
