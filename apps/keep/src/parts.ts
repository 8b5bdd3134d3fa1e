import type { AuditLog } from "./audit/audit-log.ts";
import type { Database } from "./database/open-database.ts";
import type { HealthParts } from "./health.ts";
import type { ServerKeys } from "./keys/server-keys.ts";
import type { VaultKeys } from "./keys/vault-keys.ts";

/** What handlers work with, made once at start. */
export type KeepParts = HealthParts & {
  readonly database: Database;
  readonly vaultKeys: VaultKeys;
  readonly serverKeys: ServerKeys;
  readonly audit: AuditLog;
};
