import type { Actor } from "../../authorization/actor.ts";
import type { Grant } from "../../authorization/grant.ts";
import type { FindAccess } from "../../authorization/member-access.ts";
import type { Database } from "../../database/open-database.ts";
import type { Transaction } from "../../database/transaction.ts";
import { requestFailure } from "../../failures.ts";
import { type IdempotentResult, runIdempotent } from "../../idempotency/run-idempotent.ts";
import type { ChangeRequest } from "../../vaults/change-queue.ts";
import { type OpenChanges, openChanges, type VaultChange } from "../../vaults/open-changes.ts";
import { reportIntegrityError } from "../report-integrity-error.ts";
import { applyProposal, assertUnchanged } from "./apply-change.ts";
import type { ChangeContent } from "./change-content.ts";
import { endChanges } from "./end-changes.ts";
import { assertSecondPerson, isProposer, requirePerson } from "./people.ts";
import type { ApprovalDependencies } from "./propose-change.ts";
import type { StoredChange } from "./queries.ts";
import { loadPending, openContent } from "./read-changes.ts";
import { assertProposalAllowed, assertProposerAllowed } from "./rights.ts";

export type DecisionRequest = Pick<ChangeRequest, "actor" | "vaultId" | "idempotencyKey"> & {
  readonly changeId: string;
};

export type DecisionDependencies = ApprovalDependencies & {
  readonly database: Pick<Database, "inAccount" | "acrossAccounts">;
  readonly findAccess: FindAccess;
};

/**
 * Applies the change and ends it, in one transaction. Its operations are recorded as those of the proposer, and the
 * approval as the approver's.
 */
export function approveChange(
  request: DecisionRequest,
  fingerprint: Buffer,
  dependencies: DecisionDependencies,
): Promise<IdempotentResult<null>> {
  const { actor } = request;
  const personId = requirePerson(actor);
  return decide(request, dependencies, async (changes, transaction) => {
    const approved = await changes.run(actor, async (change) => {
      const row = await loadPending(change, request, dependencies);
      assertSecondPerson(row, personId);
      if (!row.fingerprint.equals(fingerprint)) throw notReviewed();
      const content = await openContent(change, row, dependencies);
      assertState(change, content);
      assertProposalAllowed(actor.grant, request.vaultId, content);
      const proposers = await assertProposerAllowed(
        transaction,
        { row, proposal: content },
        { ...dependencies, rowMacs: dependencies.serverKeys.rowMacs },
      );
      await assertUnchanged(change, content);
      await endChanges(change, { rows: [row], state: "approved" }, dependencies.serverKeys.rowMacs);
      return { row, content, grants: [actor.grant, ...proposers] as const };
    });
    await changes.run(proposerOf(approved), (change) =>
      applyProposal(change, approved.content, approved.grants),
    );
  });
}

/** By a person who could approve it, or by the person who proposed it. */
export function rejectChange(
  request: DecisionRequest,
  dependencies: DecisionDependencies,
): Promise<IdempotentResult<null>> {
  const { actor } = request;
  requirePerson(actor);
  return decide(request, dependencies, async (changes) => {
    await changes.run(actor, async (change) => {
      const row = await loadPending(change, request, dependencies);
      const content = await openContent(change, row, dependencies);
      assertProposalAllowed(actor.grant, request.vaultId, content);
      await endChanges(change, { rows: [row], state: "rejected" }, dependencies.serverKeys.rowMacs);
    });
  });
}

/** By the person or the token that proposed it. */
export function withdrawChange(
  request: DecisionRequest,
  dependencies: DecisionDependencies,
): Promise<IdempotentResult<null>> {
  const { actor } = request;
  return decide(request, dependencies, async (changes) => {
    await changes.run(actor, async (change) => {
      const row = await loadPending(change, request, dependencies);
      if (!isProposer(row, actor)) {
        const reason = "Only whoever proposed a change can withdraw it; reject it instead";
        throw requestFailure({ kind: "conflict", reason });
      }
      await endChanges(change, { rows: [row], state: "withdrawn" }, dependencies.serverKeys.rowMacs);
    });
  });
}

/** In one transaction, whatever state the vault is in. */
function decide(
  { actor, vaultId, idempotencyKey }: DecisionRequest,
  dependencies: DecisionDependencies,
  work: (changes: OpenChanges, transaction: Transaction) => Promise<void>,
): Promise<IdempotentResult<null>> {
  const vaultRef = { accountId: actor.accountId, vaultId };
  return runIdempotent(dependencies.database, { actor, idempotencyKey }, async (transaction) => {
    const context = { vaultRef, state: "any", dependencies, isApproved: true } as const;
    const changes = openChanges(transaction, context);
    await work(changes, transaction);
    await changes.end();
    return null;
  }).catch((error: unknown) => reportIntegrityError(error, { by: actor, vaultRef }, dependencies));
}

/** Only a change that restores the vault applies to a deleted one. */
function assertState({ vault }: VaultChange, { vaultAction }: ChangeContent): void {
  const isDeleted = vault.deleted_at !== null;
  if (isDeleted === (vaultAction === "restore")) return;
  const reason = isDeleted ? "The vault is deleted" : "The vault was restored already";
  throw requestFailure({ kind: "conflict", reason });
}

function notReviewed(): Error {
  const reason = "The fingerprint is not the one of this change; read the change again before you approve it";
  return requestFailure({ kind: "conflict", reason });
}

type Approved = {
  readonly row: StoredChange;
  readonly content: ChangeContent;
  readonly grants: readonly [Grant, ...Grant[]];
};

function proposerOf({ row, content }: Approved): Pick<Actor, "kind" | "id" | "address" | "personId"> {
  const { proposerKind: kind, proposerId: id, personId } = row;
  return { kind, id, address: content.address, ...(personId === null ? {} : { personId }) };
}
