import { FailureError } from "@hearth-and-keep/failures";
import type { BatchOperation, BatchOutcome } from "@hearth-and-keep/vault-contract";
import type { Actor } from "../authorization/actor.ts";
import { assertPathAllowed, assertScopeAllowed } from "../authorization/grant.ts";
import { type Failure, requestFailure } from "../failures.ts";
import type { IdempotentResult } from "../idempotency/run-idempotent.ts";
import { assertPreconditions, type Preconditions } from "../preconditions.ts";
import type { ChangeDependencies, ChangeRequest } from "../vaults/change-queue.ts";
import type { VaultChange } from "../vaults/open-changes.ts";
import { moveSecret } from "./change-metadata.ts";
import { changeSecrets, loadSecrets } from "./change-secret.ts";
import { deleteSecretInChange } from "./delete-secret.ts";
import { describeSecret } from "./describe-secret.ts";
import { type SecretForUpdate } from "./queries.ts";
import { parseSecretPath } from "./secret-path.ts";
import { decodeValue } from "./value-content.ts";
import { assertReferencesAllowed, writeSecretInChange } from "./write-secret.ts";

type BatchResult = BatchOutcome["results"][number];

/** Applies the operations in order, all or none. */
export function runBatch(
  request: Omit<ChangeRequest, "preconditions">,
  operations: readonly BatchOperation[],
  dependencies: ChangeDependencies,
): Promise<IdempotentResult<BatchOutcome>> {
  assertBatchAllowed(request, operations);
  return changeSecrets(request, dependencies, async (change) => {
    const results: BatchResult[] = [];
    const { grant } = request.actor;
    for (const [index, operation] of operations.entries())
      results.push(await runOperation(change, operation, { grant, index }));
    return { revision: change.latestRevision(), results };
  });
}

/** One operation of a batch, within the caller's change; the caller has checked that it is allowed. */
export function runOperation(
  change: VaultChange,
  operation: BatchOperation,
  { grant, index }: Pick<Actor, "grant"> & { readonly index: number },
): Promise<BatchResult> {
  return runOne(change, operation, { grant }).catch((error: unknown) => rethrow(error, index));
}

/** Checks scopes, paths and references before reading anything from the vault. */
export function assertBatchAllowed(
  { actor, vaultId }: { readonly actor: Pick<Actor, "grant">; readonly vaultId: string },
  operations: readonly BatchOperation[],
): void {
  const { grant } = actor;
  for (const operation of operations) {
    const reach = { scope: operation.op === "delete" ? "secrets:delete" : "secrets:write", vaultId } as const;
    assertScopeAllowed(grant, reach);
    assertPathAllowed(grant, reach, parseSecretPath(operation.path).path);
    if (operation.op === "move") assertPathAllowed(grant, reach, parseSecretPath(operation.to, "to").path);
    if (operation.op === "put") {
      const { value, encoding, type } = operation;
      assertReferencesAllowed(actor, vaultId, { value: decodeValue(value, encoding), type });
    }
  }
}

/** A failed precondition names the operation; other failures name its path. */
function rethrow(error: unknown, index: number): never {
  if (!(error instanceof FailureError)) throw error;
  // Keep throws FailureError only with its own failures.
  const failure = error.failure as Failure;
  if (failure.kind !== "precondition-failed") throw error;
  throw requestFailure({ ...failure, index }, { cause: error });
}

async function runOne(
  change: VaultChange,
  operation: BatchOperation,
  { grant }: Pick<Actor, "grant">,
): Promise<BatchResult> {
  const path = parseSecretPath(operation.path);
  const preconditions = toPreconditions(operation.if_revision);
  if (operation.op === "put") {
    const { value, encoding, type, tags, note } = operation;
    const { isNew, secret } = await writeSecretInChange(change, {
      path,
      value: decodeValue(value, encoding),
      type,
      tags,
      note,
      grant,
      check: (target) => assertPreconditions(preconditions, target),
    });
    return { outcome: isNew ? "created" : "changed", secret };
  }
  const before = await loadOne(change, { path, preconditions });
  if (operation.op === "delete") {
    return { outcome: "deleted", secret: describeSecret(await deleteSecretInChange(change, before)) };
  }
  const to = parseSecretPath(operation.to, "to");
  return { outcome: "moved", secret: describeSecret(await moveSecret(change, before, { to, grant })) };
}

async function loadOne(
  change: VaultChange,
  { path, preconditions }: { path: ReturnType<typeof parseSecretPath>; preconditions: Preconditions },
): Promise<SecretForUpdate> {
  const [found] = await loadSecrets(change, path);
  assertPreconditions(preconditions, {
    revision: found?.revision,
    isRequired: change.vault.demands_preconditions,
  });
  if (found === undefined) throw requestFailure({ kind: "not-found" });
  return found;
}

/** 0 requires that the path is free. */
function toPreconditions(revision: number | "*" | undefined): Preconditions {
  if (revision === undefined) return {};
  if (revision === "*") return { match: "any" };
  return revision === 0 ? { noneMatch: "any" } : { match: new Set([String(revision)]) };
}
