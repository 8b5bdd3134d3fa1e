import type { Actor } from "../authorization/actor.ts";
import { isFromOneOf } from "../authorization/addresses.ts";
import type { Grant } from "../authorization/grant.ts";
import { readScope, widen } from "../authorization/scopes.ts";
import type { Forgetting } from "../cluster/cache-invalidation.ts";
import type { Database } from "../database/open-database.ts";
import { findToken, type StoredGrant } from "./queries.ts";
import { createRememberedTokens, type KnownToken } from "./remembered-tokens.ts";
import { hashToken, readToken } from "./token-format.ts";

export type CheckParts = {
  readonly database: Pick<Database, "ask" | "askInAccount">;
  readonly forgetting: Forgetting;
  /** Told of every use, which it must not delay. */
  readonly noteUse: (actor: Actor) => void;
  /** Told where each answer came from. */
  readonly countCheck?: (from: "memory" | "database") => void;
};

/** Where a token is used from, and whether the database may be asked when this node does not remember it. */
type TokenUse = { readonly address: string; readonly mayAsk: boolean };

/** Undefined when the token does not hold, for whatever reason: nobody learns which. */
export type CheckToken = (text: string, use: TokenUse) => Promise<Actor | undefined>;

export function createTokenCheck({ database, forgetting, noteUse, countCheck }: CheckParts): CheckToken {
  const remembered = createRememberedTokens(forgetting);
  const find = async (hash: Buffer, mayAsk: boolean): Promise<KnownToken | undefined> => {
    const name = hash.toString("base64");
    const known = remembered.get(name);
    if (known !== undefined) {
      countCheck?.("memory");
      return known === "nobody" ? undefined : known;
    }
    if (!mayAsk) return undefined;
    countCheck?.("database");
    const generation = forgetting.generation();
    const stored = await findToken(database, hash);
    const found = stored === undefined ? undefined : { ...stored, grant: grantOf(stored) };
    remembered.keep(name, found, generation);
    return found;
  };
  return async (text, { address, mayAsk }) => {
    const token = readToken(text);
    if (token === undefined) return undefined;
    const known = await find(hashToken(token), mayAsk);
    if (known === undefined || !holds(known, address, forgetting.databaseNow())) return undefined;
    const actor = {
      accountId: known.accountId,
      kind: "token",
      id: known.id,
      address,
      grant: known.grant,
    } as const;
    noteUse(actor);
    return actor;
  };
}

/** One that was found a while ago may have ended since. */
function holds({ grant, validUntil }: KnownToken, address: string, now: number): boolean {
  const isOver = [grant.expiresAt, validUntil].some((end) => (end?.getTime() ?? now + 1) <= now);
  return !isOver && (grant.addresses === undefined || isFromOneOf(grant.addresses, address));
}

/** What a token may, as it is stored. */
export function grantOf(stored: StoredGrant): Grant {
  return {
    scopes: widen(stored.scopes.flatMap((word) => readScope(word) ?? [])),
    ...(stored.vaultIds === null ? {} : { vaultIds: new Set(stored.vaultIds) }),
    ...(stored.paths === null ? {} : { paths: stored.paths }),
    ...(stored.addresses === null ? {} : { addresses: stored.addresses }),
    ...(stored.expiresAt === null ? {} : { expiresAt: stored.expiresAt }),
  };
}
