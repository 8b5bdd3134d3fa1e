import type { AuditActor, AuditLog } from "../audit/audit-log.ts";
import { requestFailure } from "../failures.ts";
import type { VaultRef } from "../keys/vault-keys.ts";
import { SecretIntegrityError } from "./secret-mac.ts";

/** Records a failed integrity check in the audit log, in its own transaction, and throws; rethrows any other error. */
export async function reportIntegrityError(
  error: unknown,
  { by, vaultRef }: { readonly by: AuditActor; readonly vaultRef: VaultRef },
  { audit }: { readonly audit: AuditLog },
): Promise<never> {
  if (!(error instanceof SecretIntegrityError)) throw error;
  await audit.recordRead({
    ...vaultRef,
    by,
    event: { type: "integrity-broken", secret: error.secretId },
  });
  throw requestFailure({ kind: "integrity-broken" }, { cause: error });
}
