import type { WebFiles } from "@hearth-and-keep/http-service";
import type { AuditLog } from "./audit/audit-log.ts";
import type { Database } from "./database/open-database.ts";
import type { HealthParts } from "./health.ts";
import type { ServerKeys } from "./keys/server-keys.ts";
import type { VaultKeys } from "./keys/vault-keys.ts";
import type { Metrics } from "./metrics.ts";
import type { ApiDocument } from "./openapi/describe-api.ts";
import type { SignIn } from "./sign-in/prepare-sign-in.ts";

/** What handlers work with, made once at start. */
export type KeepParts = HealthParts & {
  readonly database: Database;
  readonly vaultKeys: VaultKeys;
  readonly serverKeys: ServerKeys;
  readonly audit: AuditLog;
  readonly signIn: SignIn;
  readonly metrics: Metrics;
  readonly console: {
    /** None when the console was not built. */
    readonly files: WebFiles;
    /** The Content-Security-Policy of its page, which names where providers are once that is known. */
    readonly policy: () => string;
  };
  readonly apiDocument: () => ApiDocument;
};
