import { adoptRecords } from "./audit/adopt-records.ts";
import type { AuditLog } from "./audit/audit-log.ts";
import { carryOverChains } from "./audit/chains/carry-over.ts";
import { openCheckpointFile } from "./audit/checkpoint-file.ts";
import { eraseDeletedAccounts } from "./audit/erase-records.ts";
import type { NodeLog } from "./audit/node-log.ts";
import { createPartitions } from "./audit/queries.ts";
import { deleteExpired } from "./cleanup/delete-expired.ts";
import type { ServeConfig } from "./config.ts";
import type { Database } from "./database/open-database.ts";
import type { KeyWrapper } from "./keys/key-wrapper.ts";
import { createRewrapTask } from "./keys/rewrap-keys.ts";
import { reencryptVaults } from "./keys/rotation/reencrypt-vaults.ts";
import type { ServerKeys } from "./keys/server-keys.ts";
import type { VaultHeads } from "./keys/vault-heads/vault-heads.ts";
import type { VaultKeys } from "./keys/vault-keys.ts";
import {
  type CheckDependencies,
  type CheckOutcome,
  checkMemberships,
} from "./memberships/check-memberships.ts";
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
  readonly nodeLog: NodeLog;
  readonly onCheckpointFileFailed: () => void;
  /** Absent without a token for checks of memberships. */
  readonly memberships: MembershipDependencies | undefined;
};

type MembershipDependencies = Pick<
  CheckDependencies,
  "source" | "admission" | "intervalMilliseconds" | "now"
> & {
  readonly countCheck: (outcome: CheckOutcome) => void;
};

const rewrapMilliseconds = 15_000;
const reencryptMilliseconds = 500;
const cleanupMilliseconds = 3_600_000;
/** After which a committed record is a leaf of the log, and covered by a signed checkpoint. */
const appendMilliseconds = 1000;
const adoptMilliseconds = 30_000;
const eraseMilliseconds = 5000;
/** How often a node looks whether a check of memberships is due. */
const maxMembershipPollMilliseconds = 5000;

/** Background work of a node: the audit log, re-encryption during key rotations, and deletion of expired rows. */
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
  const storeCheckpoint = createCheckpointStore(config.auditCheckpointFile, dependencies);
  const audit = { ...dependencies, ...dependencies.serverKeys, onForged: reportForged(logger) };
  const running = [
    repeat(appendMilliseconds, () => dependencies.nodeLog.append()),
    repeat(config.auditCheckpointSeconds * 1000, storeCheckpoint),
    repeat(adoptMilliseconds, () => adoptRecords(audit)),
    repeat(eraseMilliseconds, () => eraseDeletedAccounts(audit)),
    repeat(cleanupMilliseconds, () => createPartitions(dependencies.database)),
    repeat(cleanupMilliseconds, () => carryOverChains(dependencies)),
    repeat(rewrapMilliseconds, createRewrapTask(rewrapDependencies(dependencies))),
    repeat(reencryptMilliseconds, () => reencryptVaults({ ...dependencies, signal: stop.signal })),
    repeat(cleanupMilliseconds, () => deleteExpired({ ...dependencies, signal: stop.signal })),
    ...repeatChecks(repeat, stop.signal, dependencies),
  ];
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await Promise.all(running);
      await storeCheckpoint().catch(() => undefined);
    },
  };
}

type Repeat = (milliseconds: number, run: () => Promise<void>) => Promise<void>;

function repeatChecks(
  repeat: Repeat,
  signal: AbortSignal,
  { memberships, logger, ...dependencies }: BackgroundDependencies,
): readonly Promise<void>[] {
  if (memberships === undefined) return [];
  const milliseconds = Math.min(memberships.intervalMilliseconds / 4, maxMembershipPollMilliseconds);
  const check = {
    ...dependencies,
    ...memberships,
    signal,
    onChecked: (outcome: CheckOutcome) => {
      memberships.countCheck(outcome);
      if (outcome !== "succeeded")
        logger.warn("Memberships could not be checked; without a check, access ends after 24 hours", {
          outcome,
        });
    },
    onIntegrityError: (account: string) =>
      logger.error("Stored identity failed its integrity check", { account }),
  };
  return [repeat(milliseconds, () => checkMemberships(check))];
}

/** Writes the latest checkpoint of this node's log to the file outside the database, if one is configured. */
function createCheckpointStore(
  path: string | undefined,
  { nodeLog, logger, onCheckpointFileFailed }: BackgroundDependencies,
): () => Promise<void> {
  if (path === undefined) return () => Promise.resolve();
  const file = openCheckpointFile(path);
  let stored: string | undefined;
  return async () => {
    await nodeLog.append();
    const note = nodeLog.latestCheckpoint();
    if (note === undefined || note === stored) return;
    if (await file.append(`${JSON.stringify({ type: "log-checkpoint", note })}\n`)) stored = note;
    else {
      onCheckpointFileFailed();
      logger.error("Checkpoint file cannot be written");
    }
  };
}

function reportForged(logger: KeepLogger): (records: number) => void {
  return (records) => logger.error("Audit records that Keep did not write were found", { records });
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
