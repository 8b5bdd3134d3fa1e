import type { Database } from "../database/open-database.ts";
import { findStoredSessions } from "../sign-in/queries.ts";
import { hashText, isRandomToken } from "../sign-in/random-tokens.ts";
import { findStoredTokens } from "../tokens/queries.ts";
import { hashToken, parseToken } from "../tokens/token-format.ts";
import type { AccessDependencies } from "./authenticate.ts";
import { createBatchedLookup } from "./batched-lookup.ts";

/** Looks up credentials from addresses that sent many invalid ones. */
export function createStoredCredentials(database: Pick<Database, "query">): AccessDependencies["isStored"] {
  const isStoredToken = createBatchedLookup((hashes) => findStoredTokens(database, hashes));
  const isStoredSession = createBatchedLookup((hashes) => findStoredSessions(database, hashes));
  return async ({ kind, text }) => {
    if (kind === "session") return isRandomToken(text) && isStoredSession(hashText(text));
    const token = parseToken(text);
    return token !== undefined && isStoredToken(hashToken(token));
  };
}
