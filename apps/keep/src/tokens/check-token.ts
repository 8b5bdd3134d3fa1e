import type { Actor } from "../authorization/actor.ts";
import { isFromOneOf } from "../authorization/addresses.ts";
import { readScope, widen } from "../authorization/scopes.ts";
import type { Database } from "../database/open-database.ts";
import { findToken, type StoredToken } from "./queries.ts";
import { hashToken, readToken } from "./token-format.ts";

/** Undefined when the token does not hold, for whatever reason: nobody learns which. */
export async function checkToken(
  text: string,
  address: string,
  { database }: { readonly database: Pick<Database, "ask" | "askInAccount"> },
): Promise<Actor | undefined> {
  const token = readToken(text);
  if (token === undefined) return undefined;
  const stored = await findToken(database, hashToken(token));
  return stored === undefined ? undefined : asActor(stored, address);
}

function asActor(stored: StoredToken, address: string): Actor | undefined {
  if (stored.addresses !== null && !isFromOneOf(stored.addresses, address)) return undefined;
  return {
    accountId: stored.accountId,
    kind: "token",
    id: stored.id,
    address,
    grant: {
      scopes: widen(stored.scopes.flatMap((word) => readScope(word) ?? [])),
      ...(stored.vaultIds === null ? {} : { vaultIds: new Set(stored.vaultIds) }),
      ...(stored.paths === null ? {} : { paths: stored.paths }),
      ...(stored.addresses === null ? {} : { addresses: stored.addresses }),
      ...(stored.expiresAt === null ? {} : { expiresAt: stored.expiresAt }),
    },
  };
}
