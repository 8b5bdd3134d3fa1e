import type { HearthRoute } from "../routes.ts";

/** Everything that a key sends, except for reading and for what only admins may do. */
export function isCounted({ method, role }: Pick<HearthRoute, "method" | "role">): boolean {
  return method === "POST" && role !== "admin";
}

/** Routes that count or render tokens and evaluate none. */
export function countsOnly({ path }: Pick<HearthRoute, "path">): boolean {
  return /\/(?:count_tokens|input_tokens|tokenize|render|show|batches|files|conversations|cancel)(?:\/|$)/u.test(
    path,
  );
}

/** Whether requests of a route are in the ledger. */
export function runsModel(row: Pick<HearthRoute, "method" | "role" | "path">): boolean {
  return isCounted(row) && !countsOnly(row);
}
