import type { HttpResponse } from "@hearth-and-keep/http-service";
import { readIdempotencyKey } from "../access/read-change.ts";
import type { Transaction } from "../database/transaction.ts";
import type { KeepDependencies } from "../dependencies.ts";
import type { KeepRequest } from "../route-row.ts";
import { runIdempotent } from "./run-idempotent.ts";

/** A change whose result is not repeated; without a second effect when the request is a repetition. */
export async function runChange(
  request: KeepRequest,
  { database, serverKeys }: KeepDependencies,
  work: (transaction: Transaction) => Promise<unknown>,
): Promise<void> {
  const idempotencyKey = readIdempotencyKey(request, serverKeys);
  await runIdempotent(database, { actor: request.actor, idempotencyKey }, async (transaction) => {
    await work(transaction);
    return null;
  });
}

/** As `runChange`, with the response to a change that succeeded. */
export async function noContentAfter(...change: Parameters<typeof runChange>): Promise<HttpResponse> {
  await runChange(...change);
  return { status: 204 };
}
