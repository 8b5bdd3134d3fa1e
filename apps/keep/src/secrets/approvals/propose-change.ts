import { type Actor, personOf } from "../../authorization/actor.ts";
import type { Database } from "../../database/open-database.ts";
import type { Transaction } from "../../database/transaction.ts";
import { requestFailure } from "../../failures.ts";
import { generateId } from "../../generate-id.ts";
import { type IdempotentResult, runIdempotent } from "../../idempotency/run-idempotent.ts";
import type { ServerKeys } from "../../keys/server-keys.ts";
import type { ChangeRequest } from "../../vaults/change-queue.ts";
import {
  type ChangeContext,
  changeInTransaction,
  type OpenDependencies,
  openChanges,
  type VaultChange,
} from "../../vaults/open-changes.ts";
import { isOrganisation } from "../../vaults/queries.ts";
import { reportIntegrityError } from "../report-integrity-error.ts";
import { reserveBytes } from "../write-secret.ts";
import { applyProposal, listPaths, readSeenState } from "./apply-change.ts";
import {
  type ChangeContent,
  computeFingerprint,
  encryptContent,
  type Proposal,
  type SeenState,
} from "./change-content.ts";
import { listBarredPeople } from "./people.ts";
import { insertChange, readPendingState, rollBackToSavepoint, setSavepoint } from "./queries.ts";
import { assertProposalAllowed } from "./rights.ts";

export type ApprovalDependencies = OpenDependencies & {
  readonly database: Pick<Database, "inAccount">;
  readonly serverKeys: Pick<ServerKeys, "rowMacs" | "fingerprint">;
};

export type ProposalRequest = Pick<ChangeRequest, "actor" | "vaultId" | "idempotencyKey"> & {
  readonly reason: string;
};

const maxPending = 100;
const daysUntilExpiry = 7;

/**
 * Stores a change that takes effect when another person approves it. It is applied first and rolled back, so that it is
 * refused now for every reason for which it would be refused later. Returns its id.
 */
export async function proposeChange(
  request: ProposalRequest,
  proposal: Proposal,
  dependencies: ApprovalDependencies,
): Promise<IdempotentResult<string>> {
  const { actor, vaultId } = request;
  assertProposalAllowed(actor.grant, vaultId, proposal);
  assertOneKind(proposal);
  const vaultRef = { accountId: actor.accountId, vaultId };
  const state = proposal.vaultAction === "restore" ? "deleted" : "live";
  const context = { vaultRef, state, dependencies } as const;
  return runIdempotent(dependencies.database, request, async (transaction) => {
    const seen = await rehearse(transaction, { actor, context }, proposal);
    if (!(await isOrganisation(transaction, actor.accountId))) throw noSecondPerson();
    const content = { ...proposal, seen, address: actor.address };
    return changeInTransaction(transaction, { ...context, by: actor }, (change) =>
      storeProposal(change, { request, content }, dependencies),
    );
  }).catch((error: unknown) => reportIntegrityError(error, { by: actor, vaultRef }, dependencies));
}

function assertOneKind({ operations, settings, vaultAction }: Proposal): void {
  const isOther = operations.length > 0 || Object.keys(settings).length > 0;
  if (isOther !== (vaultAction !== null)) return;
  const [field, why] =
    vaultAction === null
      ? ["", "must contain at least one operation or setting"]
      : [`${vaultAction}_vault`, "must be the only change"];
  throw requestFailure({ kind: "request-invalid", errors: [{ field, reason: why }] });
}

function noSecondPerson(): Error {
  const reason =
    "must be in an organisation: in a personal account nobody else could approve the change; make it directly";
  return requestFailure({ kind: "request-invalid", errors: [{ field: "vault", reason }] });
}

/** Applies the proposal as if it were approved, and rolls back; the vault stays locked. */
async function rehearse(
  transaction: Transaction,
  { actor, context }: { readonly actor: Actor; readonly context: ChangeContext },
  proposal: Proposal,
): Promise<SeenState> {
  await setSavepoint(transaction);
  const rehearsal = openChanges(transaction, { ...context, isApproved: true });
  const seen = await rehearsal.run(actor, async (change) => {
    const before = await readSeenState(change, proposal);
    await applyProposal(change, proposal, [actor.grant]);
    return before;
  });
  // Neither the head nor the records of the rehearsal are stored, because it is not ended.
  await rollBackToSavepoint(transaction);
  return seen;
}

type NewChange = { readonly request: ProposalRequest; readonly content: ChangeContent };

async function storeProposal(
  change: VaultChange,
  { request: { actor, reason }, content }: NewChange,
  { serverKeys }: ApprovalDependencies,
): Promise<string> {
  const { transaction, vaultRef } = change;
  const { count, now } = await readPendingState(transaction, vaultRef);
  if (count >= maxPending)
    throw requestFailure({ kind: "quota-exceeded", resource: "pending changes", max: maxPending });
  const expiresAt = new Date(now);
  expiresAt.setUTCDate(now.getUTCDate() + daysUntilExpiry);
  const identity = {
    accountId: vaultRef.accountId,
    vaultId: vaultRef.vaultId,
    id: generateId(),
    proposerKind: actor.kind,
    proposerId: actor.id,
    personId: personOf(actor) ?? null,
    barredPeople: await listBarredPeople(transaction, actor),
    paths: listPaths(content),
    isVaultWide: content.vaultAction !== null || Object.keys(content.settings).length > 0,
    reason,
    operationCount: content.operations.length,
    proposedAt: now,
    expiresAt,
  };
  const key = await change.activeKey();
  const ciphertext = encryptContent(identity, content, key);
  reserveBytes(change, ciphertext.length);
  const fingerprint = computeFingerprint(identity, content, serverKeys);
  const row = { ...identity, fingerprint };
  const status = change.vault.decided_changes;
  const mac = serverKeys.rowMacs.compute({ proposedChange: row, status });
  await insertChange(transaction, { ...row, mac }, { keyVersion: key.version, ciphertext });
  const event = { type: "change-proposed", change: row.id, reason, operations: row.operationCount } as const;
  change.record({ ...event, fingerprint: fingerprint.toString("hex") });
  return row.id;
}
