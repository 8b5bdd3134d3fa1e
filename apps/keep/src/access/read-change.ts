import { requestFailure } from "../failures.ts";
import { isId } from "../generate-id.ts";
import type { ServerKeys } from "../keys/server-keys.ts";
import type { VaultRef } from "../keys/vault-keys.ts";
import type { KeepRequest } from "../route-row.ts";
import type { ChangeRequest } from "../vaults/change-vault.ts";
import { readOnce } from "./idempotency-key.ts";
import { readConditions } from "./read-preconditions.ts";

/** The vault of the path, in the caller's account. */
export function readVaultRef({ actor, parameters }: Pick<KeepRequest, "actor" | "parameters">): VaultRef {
  return { accountId: actor.accountId, vaultId: readId(parameters["vault"]) };
}

/** An id of the path; what is no id names nothing. */
export function readId(text: string | undefined): string {
  if (text === undefined || !isId(text)) throw requestFailure({ kind: "not-found" });
  return text;
}

/** Who wants a change, in which vault, once, and under which conditions. */
export function readChange(
  call: KeepRequest,
  { serverKeys }: { readonly serverKeys: Pick<ServerKeys, "fingerprint"> },
): ChangeRequest {
  return {
    actor: call.actor,
    vaultId: readVaultRef(call).vaultId,
    idempotencyKey: readOnce(call, serverKeys),
    preconditions: readConditions(call.headers),
  };
}
