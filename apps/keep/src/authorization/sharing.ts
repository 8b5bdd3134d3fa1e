import { requestFailure } from "../failures.ts";
import type { Actor } from "./actor.ts";
import { type Grant, grantCovers, type Permission } from "./grant.ts";

/**
 * Throws unless the actor may give others this permission, or take it away. It must be allowed to share all that the
 * permission covers, and have the permission itself. An owner of the organisation may share what they cannot read: that is
 * recorded in the vault's log, which everybody who manages the vault sees.
 */
export function assertMayShare(actor: Pick<Actor, "kind" | "grant">, permission: Permission): void {
  const sharing = { ...permission, scopes: new Set(["grants:write" as const]) };
  const maySharePermission = grantCovers(withoutLimits(actor.grant), { permissions: [sharing] });
  const isOwner = actor.kind === "session" && actor.grant.permissions.some(sharesEverything);
  const hasPermission = grantCovers(withoutLimits(actor.grant), { permissions: [permission] });
  if (!maySharePermission || !(isOwner || hasPermission)) throw requestFailure({ kind: "grant-exceeded" });
}

function sharesEverything({ scopes, vaultIds, paths }: Permission): boolean {
  return scopes.has("grants:write") && vaultIds === undefined && paths === undefined;
}

/** From where and until when the actor may act does not limit what it shares. */
function withoutLimits({ permissions, within }: Grant): Grant {
  return { permissions, ...(within === undefined ? {} : { within }) };
}
