/**
 * @module
 * Protected paths, and changes that a second person approves. `protection.ts` decides what nobody may change alone, and is
 * asked wherever a row of a secret is changed or removed. Guarantees that a change is applied as it was reviewed, once, or
 * not at all, and never on the word of the person behind the proposal.
 * Imported by `routes.ts`; writes and vaults use `protection.ts`, and `keys/` and `cleanup/` maintain pending changes.
 */
import { type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import type {
  changeApproval,
  changeListQuery,
  changeQuery,
  newChange,
} from "@hearth-and-keep/vault-contract";
import { readId, readIdempotencyKey, readVaultRef } from "../../access/read-change.ts";
import { decodeCursor } from "../../cursor.ts";
import type { KeepDependencies } from "../../dependencies.ts";
import { isId } from "../../generate-id.ts";
import type { BodyRequest, KeepRequest, QueryRequest } from "../../route-row.ts";
import { readSettings } from "../../vaults/read-settings.ts";
import type { Proposal } from "./change-content.ts";
import { approveChange, type DecisionRequest, rejectChange, withdrawChange } from "./decide-change.ts";
import { proposeChange } from "./propose-change.ts";
import { listVisibleChanges, reviewChange } from "./read-changes.ts";

const pageItems = 100;

export async function handleProposeChange(
  request: BodyRequest<typeof newChange>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const { actor, body } = request;
  const { vaultId } = readVaultRef(request);
  const idempotencyKey = readIdempotencyKey(request, dependencies.serverKeys);
  const { reason } = body;
  const { result: changeId } = await proposeChange(
    { actor, vaultId, idempotencyKey, reason },
    readProposal(request),
    dependencies,
  );
  const change = await reviewChange(actor, { vaultId, changeId, withValues: false }, dependencies);
  const response = jsonResponse(change, 201);
  const location = `/api/secrets/vaults/${vaultId}/changes/${changeId}`;
  return { ...response, headers: { ...response.headers, location } };
}

export async function handleListChanges(
  request: QueryRequest<typeof changeListQuery>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const { actor, query } = request;
  const { vaultId } = readVaultRef(request);
  const limit = query.limit === undefined ? pageItems : Number(query.limit);
  const after = decodeCursor(query.cursor, ([id = ""]) => isId(id));
  const list = { vaultId, isDecided: query.state === "decided", after, limit };
  const { page, next } = await listVisibleChanges(actor, list, dependencies);
  return jsonResponse({ items: page, next_cursor: next });
}

export async function handleGetChange(
  request: QueryRequest<typeof changeQuery>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  return changeResponse(request, request.query.values === "true", dependencies);
}

export async function handleApproveChange(
  request: BodyRequest<typeof changeApproval>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const fingerprint = Buffer.from(request.body.fingerprint, "hex");
  const decision = readDecision(request, dependencies);
  await approveChange(decision, fingerprint, dependencies);
  return changeResponse(request, false, dependencies);
}

export async function handleRejectChange(
  request: KeepRequest,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  await rejectChange(readDecision(request, dependencies), dependencies);
  return changeResponse(request, false, dependencies);
}

export async function handleWithdrawChange(
  request: KeepRequest,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  await withdrawChange(readDecision(request, dependencies), dependencies);
  return { status: 204 };
}

async function changeResponse(
  request: KeepRequest,
  withValues: boolean,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const { vaultId } = readVaultRef(request);
  const changeId = readId(request.parameters["change"]);
  return jsonResponse(await reviewChange(request.actor, { vaultId, changeId, withValues }, dependencies));
}

function readDecision(request: KeepRequest, { serverKeys }: KeepDependencies): DecisionRequest {
  const { vaultId } = readVaultRef(request);
  const changeId = readId(request.parameters["change"]);
  const idempotencyKey = readIdempotencyKey(request, serverKeys);
  return { actor: request.actor, vaultId, changeId, idempotencyKey };
}

function readProposal({ body }: BodyRequest<typeof newChange>): Proposal {
  const { operations = [], delete_vault, restore_vault } = body;
  const action = delete_vault === true ? "delete" : "restore";
  const hasAction = delete_vault === true || restore_vault === true;
  return { operations, settings: readSettings(body), vaultAction: hasAction ? action : null };
}
