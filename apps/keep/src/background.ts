import type { AuditLog } from "./audit/audit-log.ts";
import { openCheckpointFile } from "./audit/checkpoint-file.ts";
import { createCheckpointing, paceOf } from "./audit/make-checkpoints.ts";
import { tidyUp } from "./cleanup/delete-expired.ts";
import type { ServeConfig } from "./config.ts";
import type { Database } from "./database/open-database.ts";
import type { KeyWrapper } from "./keys/key-wrapper.ts";
import { createRewrapping } from "./keys/rewrap-keys.ts";
import { resealVaults } from "./keys/rotation/reseal-vaults.ts";
import type { ServerKeys } from "./keys/server-keys.ts";
import type { VaultKeys } from "./keys/vault-keys.ts";
import { repeatUntil } from "./repeat-until.ts";
import type { KeepLogger } from "./server.ts";

export type BackgroundParts = {
  readonly logger: KeepLogger;
  readonly database: Database;
  readonly wrapper: KeyWrapper;
  readonly vaultKeys: VaultKeys;
  readonly serverKeys: ServerKeys;
  readonly audit: AuditLog;
  readonly onCheckpointFileFailed: () => void;
};

const rewrapMilliseconds = 15_000;
const resealMilliseconds = 500;
const tidyMilliseconds = 3_600_000;

/** What a node does beside answering requests: checkpoints, keys that are being exchanged, and what is past its time. */
export function startBackground(
  config: Pick<ServeConfig, "auditCheckpointFile" | "auditCheckpointSeconds">,
  parts: BackgroundParts,
): AsyncDisposable {
  const { logger } = parts;
  const end = new AbortController();
  const repeat = (milliseconds: number, turn: () => Promise<void>) =>
    repeatUntil(end.signal, {
      milliseconds,
      turn,
      onProblem: (problem) => {
        const defect = problem instanceof Error ? problem.name : typeof problem;
        if (!end.signal.aborted) logger.warn("Work in the background is tried again", { defect });
      },
    });
  const pace = paceOf(config.auditCheckpointSeconds);
  const running = [
    repeat(
      pace.lookSeconds * 1000,
      createCheckpointing(pace, checkpointParts(config.auditCheckpointFile, parts)),
    ),
    repeat(rewrapMilliseconds, createRewrapping(rewrapParts(parts))),
    repeat(resealMilliseconds, () => resealVaults({ ...parts, signal: end.signal })),
    repeat(tidyMilliseconds, () => tidyUp({ ...parts, signal: end.signal })),
  ];
  return {
    async [Symbol.asyncDispose]() {
      end.abort();
      await Promise.all(running);
    },
  };
}

function checkpointParts(path: string | undefined, parts: BackgroundParts) {
  return {
    ...parts,
    file: path === undefined ? undefined : openCheckpointFile(path),
    onFileFailed: () => {
      parts.onCheckpointFileFailed();
      parts.logger.error("The checkpoint file cannot be written");
    },
  };
}

function rewrapParts({ logger, ...parts }: BackgroundParts) {
  return {
    ...parts,
    onNeedless: (fingerprint: string) => logger.info("The old key is no longer needed", { fingerprint }),
    onBroken: ({ accountId }: { readonly accountId: string }) =>
      logger.error("A stored data key is not what was stored", { account: accountId }),
  };
}
