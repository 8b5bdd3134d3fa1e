import type { AuditLog } from "./audit/audit-log.ts";
import { openCheckpointFile } from "./audit/checkpoint-file.ts";
import { checkpointSchedule, createCheckpointTask } from "./audit/create-checkpoints.ts";
import { deleteExpired } from "./cleanup/delete-expired.ts";
import type { ServeConfig } from "./config.ts";
import type { Database } from "./database/open-database.ts";
import type { KeyWrapper } from "./keys/key-wrapper.ts";
import { createRewrapTask } from "./keys/rewrap-keys.ts";
import { reencryptVaults } from "./keys/rotation/reencrypt-vaults.ts";
import type { ServerKeys } from "./keys/server-keys.ts";
import type { VaultHeads } from "./keys/vault-heads/vault-heads.ts";
import type { VaultKeys } from "./keys/vault-keys.ts";
import { repeatUntil } from "./repeat-until.ts";
import type { KeepLogger } from "./server.ts";

export type BackgroundDependencies = {
  readonly logger: KeepLogger;
  readonly database: Database;
  readonly wrapper: KeyWrapper;
  readonly vaultKeys: VaultKeys;
  readonly vaultHeads: VaultHeads;
  readonly serverKeys: ServerKeys;
  readonly audit: AuditLog;
  readonly onCheckpointFileFailed: () => void;
};

const rewrapMilliseconds = 15_000;
const reencryptMilliseconds = 500;
const cleanupMilliseconds = 3_600_000;

/** Background work of a node: audit checkpoints, re-encryption during key rotations, and deletion of expired rows. */
export function startBackground(
  config: Pick<ServeConfig, "auditCheckpointFile" | "auditCheckpointSeconds">,
  dependencies: BackgroundDependencies,
): AsyncDisposable {
  const { logger } = dependencies;
  const stop = new AbortController();
  const repeat = (milliseconds: number, run: () => Promise<void>) =>
    repeatUntil(stop.signal, {
      milliseconds,
      run,
      onError: (error) => {
        const defect = error instanceof Error ? error.name : typeof error;
        if (!stop.signal.aborted) logger.warn("Background work failed and will be retried", { defect });
      },
    });
  const schedule = checkpointSchedule(config.auditCheckpointSeconds);
  const running = [
    repeat(
      schedule.pollSeconds * 1000,
      createCheckpointTask(schedule, checkpointDependencies(config.auditCheckpointFile, dependencies)),
    ),
    repeat(rewrapMilliseconds, createRewrapTask(rewrapDependencies(dependencies))),
    repeat(reencryptMilliseconds, () => reencryptVaults({ ...dependencies, signal: stop.signal })),
    repeat(cleanupMilliseconds, () => deleteExpired({ ...dependencies, signal: stop.signal })),
  ];
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await Promise.all(running);
    },
  };
}

function checkpointDependencies(path: string | undefined, dependencies: BackgroundDependencies) {
  return {
    ...dependencies,
    file: path === undefined ? undefined : openCheckpointFile(path),
    onFileFailed: () => {
      dependencies.onCheckpointFileFailed();
      dependencies.logger.error("Checkpoint file cannot be written");
    },
  };
}

function rewrapDependencies({ logger, ...dependencies }: BackgroundDependencies) {
  return {
    ...dependencies,
    onKeyUnused: (fingerprint: string) =>
      logger.info("Old encryption key is no longer needed", { fingerprint }),
    onIntegrityError: ({ accountId }: { readonly accountId: string }) =>
      logger.error("Stored data key failed its integrity check", { account: accountId }),
  };
}
