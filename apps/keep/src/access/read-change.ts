import { requestFailure } from "../failures.ts";
import { isId } from "../generate-id.ts";
import type { IdempotencyKey } from "../idempotency/run-idempotent.ts";
import type { ServerKeys } from "../keys/server-keys.ts";
import type { VaultRef } from "../keys/vault-keys.ts";
import { readPreconditions } from "../preconditions.ts";
import type { KeepRequest } from "../route-row.ts";
import type { ChangeRequest } from "../vaults/change-queue.ts";

const keyCharacters = /^[\x20-\x7e]{1,255}$/u;

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

/**
 * The `Idempotency-Key` of a write, with a fingerprint of its method, path, query and body. Preconditions are left out,
 * because a client may have read a newer revision before the retry. The fingerprint is keyed, because the body may
 * contain a secret.
 */
export function readIdempotencyKey(
  { headers, method, path, query, body }: KeepRequest,
  serverKeys: Pick<ServerKeys, "fingerprint">,
): IdempotencyKey | undefined {
  const key = headers["idempotency-key"];
  if (key === undefined) return undefined;
  if (typeof key !== "string" || !keyCharacters.test(key)) {
    throw requestFailure({
      kind: "request-invalid",
      errors: [{ field: "idempotency-key", reason: "must be 1 to 255 printable characters, sent once" }],
    });
  }
  const content = [JSON.stringify(query), JSON.stringify(body ?? null)] as const;
  return { key, fingerprint: serverKeys.fingerprint(["request", method, path, ...content]) };
}
