import type { WebFiles } from "@hearth-and-keep/http-service";
import type { AuditLog } from "./audit/audit-log.ts";
import type { NodeLog } from "./audit/node-log.ts";
import type { FindAccess } from "./authorization/member-access.ts";
import type { Database } from "./database/open-database.ts";
import type { HealthDependencies } from "./health.ts";
import type { ServerKeys } from "./keys/server-keys.ts";
import type { VaultHeads } from "./keys/vault-heads/vault-heads.ts";
import type { VaultKeys } from "./keys/vault-keys.ts";
import type { Metrics } from "./metrics.ts";
import type { SignIn } from "./sign-in/prepare-sign-in.ts";
import type { ChangeQueue } from "./vaults/change-queue.ts";
import type { RecordAttempt } from "./workload/attempts.ts";
import type { IssuerKeys } from "./workload/issuer-keys.ts";

/** What handlers depend on, created once at start. */
export type KeepDependencies = HealthDependencies & {
  readonly database: Database;
  readonly vaultKeys: VaultKeys;
  readonly vaultHeads: VaultHeads;
  readonly changeQueue: ChangeQueue;
  readonly serverKeys: ServerKeys;
  readonly audit: AuditLog;
  readonly nodeLog: NodeLog;
  readonly signIn: SignIn;
  readonly metrics: Metrics;
  readonly issuerKeys: IssuerKeys;
  readonly recordRefusal: RecordAttempt;
  readonly findAccess: FindAccess;
  readonly console: {
    /** Empty when the console was not built. */
    readonly files: WebFiles;
    /** Content-Security-Policy of its page, with the origins of the sign-in providers once they are discovered. */
    readonly policy: () => string;
  };
  /** Of a token that is created without an expiry. */
  readonly tokenLifetimeDays: number;
  /** The OpenAPI document as JSON. */
  readonly apiDocument: () => string;
};
