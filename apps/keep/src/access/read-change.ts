import { requestFailure } from "../failures.ts";
import { isId } from "../generate-id.ts";
import type { ServerKeys } from "../keys/server-keys.ts";
import type { VaultRef } from "../keys/vault-keys.ts";
import type { KeepRequest } from "../route-row.ts";
import type { ChangeRequest } from "../vaults/change-vault.ts";
import { readIdempotencyKey } from "./idempotency-key.ts";
import { readPreconditions } from "./read-preconditions.ts";

/** The vault in the path, in the caller's account. */
export function readVaultRef({ actor, parameters }: Pick<KeepRequest, "actor" | "parameters">): VaultRef {
  return { accountId: actor.accountId, vaultId: readId(parameters["vault"]) };
}

/** An id in the path; a malformed id is not found. */
export function readId(text: string | undefined): string {
  if (text === undefined || !isId(text)) throw requestFailure({ kind: "not-found" });
  return text;
}

/** The actor, vault, idempotency key and preconditions of a write. */
export function readChange(
  request: KeepRequest,
  { serverKeys }: { readonly serverKeys: Pick<ServerKeys, "fingerprint"> },
): ChangeRequest {
  return {
    actor: request.actor,
    vaultId: readVaultRef(request).vaultId,
    idempotencyKey: readIdempotencyKey(request, serverKeys),
    preconditions: readPreconditions(request.headers),
  };
}
