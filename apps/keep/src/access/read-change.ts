import { requestFailure } from "../failures.ts";
import type { ServerKeys } from "../keys/server-keys.ts";
import type { VaultPlace } from "../keys/vault-keys.ts";
import { isId } from "../make-id.ts";
import type { KeepCall } from "../route-row.ts";
import type { AskedChange } from "../vaults/change-vault.ts";
import { readOnce } from "./idempotency-key.ts";
import { readConditions } from "./read-conditions.ts";

/** The vault of the path, in the caller's account. */
export function readPlace({ actor, parameters }: Pick<KeepCall, "actor" | "parameters">): VaultPlace {
  return { accountId: actor.accountId, vaultId: readId(parameters["vault"]) };
}

/** An id of the path; what is no id names nothing. */
export function readId(text: string | undefined): string {
  if (text === undefined || !isId(text)) throw requestFailure({ kind: "not-found" });
  return text;
}

/** Who wants a change, in which vault, once, and under which conditions. */
export function readChange(
  call: KeepCall,
  { serverKeys }: { readonly serverKeys: Pick<ServerKeys, "fingerprint"> },
): AskedChange {
  return {
    actor: call.actor,
    vaultId: readPlace(call).vaultId,
    once: readOnce(call, serverKeys),
    conditions: readConditions(call.headers),
  };
}
