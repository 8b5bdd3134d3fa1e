import type { BatchOperation, BatchOutcome } from "@hearth-and-keep/vault-contract";
import type { Actor } from "../authorization/actor.ts";
import { type Conditions, refuseUnlessMet } from "../conditions.ts";
import { requestFailure } from "../failures.ts";
import type { Changed } from "../idempotency/change-once.ts";
import type { AskedChange, ChangeParts, VaultChange } from "../vaults/change-vault.ts";
import { moveSecret } from "./change-metadata.ts";
import { changeSecrets, takeSecrets } from "./change-secret.ts";
import { deleteInto } from "./delete-secret.ts";
import { describeSecret } from "./describe-secret.ts";
import { refuseUnlessReached } from "./path-access.ts";
import { type FoundSecret } from "./queries.ts";
import { parseSecretPath } from "./secret-path.ts";
import { decodeValue } from "./value-content.ts";
import { writeInto } from "./write-secret.ts";

type BatchResult = BatchOutcome["results"][number];

/** All of them in their order, or none. */
export function runBatch(
  asked: Omit<AskedChange, "conditions">,
  operations: readonly BatchOperation[],
  parts: ChangeParts,
): Promise<Changed<BatchOutcome>> {
  refuseUnlessAllowed(asked.actor, operations);
  return changeSecrets(asked, parts, async (change) => {
    const results: BatchResult[] = [];
    for (const operation of operations) results.push(await runOne(change, operation));
    return { revision: change.latestRevision(), results };
  });
}

/** Before anything about the secrets is looked at. */
function refuseUnlessAllowed({ grant }: Actor, operations: readonly BatchOperation[]): void {
  for (const operation of operations) {
    if (operation.op === "delete" && !grant.scopes.has("secrets:delete")) {
      throw requestFailure({ kind: "insufficient-scope", scope: "secrets:delete" });
    }
    refuseUnlessReached(grant, parseSecretPath(operation.path).path);
    if (operation.op === "move") refuseUnlessReached(grant, parseSecretPath(operation.to, "to").path);
  }
}

async function runOne(change: VaultChange, operation: BatchOperation): Promise<BatchResult> {
  const path = parseSecretPath(operation.path);
  const conditions = conditionsOf(operation.if_revision);
  if (operation.op === "put") {
    const { value, encoding, type, tags, note } = operation;
    const { isNew, secret } = await writeInto(change, {
      path,
      value: decodeValue(value, encoding),
      type,
      tags,
      note,
      check: (target) => refuseUnlessMet(conditions, target),
    });
    return { outcome: isNew ? "created" : "changed", secret };
  }
  const before = await takeOne(change, { path, conditions });
  if (operation.op === "delete") {
    return { outcome: "deleted", secret: describeSecret(await deleteInto(change, before)) };
  }
  const to = parseSecretPath(operation.to, "to");
  return { outcome: "moved", secret: describeSecret(await moveSecret(change, before, { to })) };
}

async function takeOne(
  change: VaultChange,
  { path, conditions }: { path: ReturnType<typeof parseSecretPath>; conditions: Conditions },
): Promise<FoundSecret> {
  const [found] = await takeSecrets(change, path);
  if (found === undefined) throw requestFailure({ kind: "not-found" });
  refuseUnlessMet(conditions, {
    revision: found.revision,
    isDemanded: change.vault.demands_preconditions,
  });
  return found;
}

/** 0 is for what must not be there yet. */
function conditionsOf(revision: number | "*" | undefined): Conditions {
  if (revision === undefined) return {};
  if (revision === "*") return { match: "any" };
  return revision === 0 ? { noneMatch: "any" } : { match: new Set([String(revision)]) };
}
