import type { Actor } from "../authorization/actor.ts";
import type { Database } from "../database/open-database.ts";
import type { IdempotencyKey, IdempotentResult } from "../idempotency/run-idempotent.ts";
import type { Preconditions } from "../preconditions.ts";
import type { ChangeQueue } from "./change-queue.ts";
import type { OpenDependencies, VaultChange } from "./open-changes.ts";

/** A requested change in one vault. */
export type ChangeRequest = {
  readonly actor: Actor;
  readonly vaultId: string;
  readonly idempotencyKey: IdempotencyKey | undefined;
  readonly preconditions: Preconditions;
  /** The path of the only secret that the change reads and writes, if it is a single one. */
  readonly onlyPath?: string;
};

export type ChangeDependencies = OpenDependencies & {
  readonly database: Pick<Database, "inAccount">;
  readonly changeQueue: ChangeQueue;
};

/** Changes a live vault. Requests that arrive while another change of the vault runs share the next transaction. */
export function changeVault<Result>(
  request: Omit<ChangeRequest, "preconditions">,
  { changeQueue }: Pick<ChangeDependencies, "changeQueue">,
  work: (change: VaultChange) => Promise<Result>,
): Promise<IdempotentResult<Result>> {
  return changeQueue.run(request, work);
}
