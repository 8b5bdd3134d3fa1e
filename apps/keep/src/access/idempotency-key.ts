import { requestFailure } from "../failures.ts";
import type { IdempotencyKey } from "../idempotency/run-idempotent.ts";
import type { ServerKeys } from "../keys/server-keys.ts";
import type { KeepRequest } from "../route-row.ts";

const keyCharacters = /^[\x20-\x7e]{1,255}$/u;

/**
 * The `Idempotency-Key` of a request that changes something, and what tells the request from others: method, path,
 * query and body. Preconditions are left out, because who repeats a request may have read again in between. The body
 * may hold a secret, so its fingerprint is made with a key of the server's.
 */
export function readOnce(
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
