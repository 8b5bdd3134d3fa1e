import type { AuditLog, Recorded } from "../audit/audit-log.ts";
import { requestFailure } from "../failures.ts";
import type { VaultPlace } from "../keys/vault-keys.ts";
import { SecretBroken } from "./secret-mac.ts";

/** Puts a broken secret into the audit log, in a transaction of its own, and refuses; anything else is thrown on. */
export async function reportBroken(
  problem: unknown,
  { by, place }: { readonly by: Recorded; readonly place: VaultPlace },
  { audit }: { readonly audit: AuditLog },
): Promise<never> {
  if (!(problem instanceof SecretBroken)) throw problem;
  await audit.recordRead(place.accountId, {
    chain: place.vaultId,
    by,
    event: { type: "integrity-broken", secret: problem.secretId },
  });
  throw requestFailure({ kind: "integrity-broken" }, { cause: problem });
}
