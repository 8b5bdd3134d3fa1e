import { type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import { readOnce } from "../../access/idempotency-key.ts";
import { readId, readVaultRef } from "../../access/read-change.ts";
import { allowsVault } from "../../authorization/grant.ts";
import type { KeepDependencies } from "../../dependencies.ts";
import { requestFailure } from "../../failures.ts";
import type { KeepRequest } from "../../route-row.ts";
import { findOperation } from "./queries.ts";
import { describeOperation, rotateDataKey } from "./rotate-data-key.ts";

export async function handleRotateKey(call: KeepRequest, parts: KeepDependencies): Promise<HttpResponse> {
  const { vaultId } = readVaultRef(call);
  const once = readOnce(call, parts.serverKeys);
  const begun = await rotateDataKey(call.actor, { vaultId, once }, parts);
  const answer = jsonResponse({ operation: begun }, 202);
  return { ...answer, headers: { ...answer.headers, location: `/api/secrets/operations/${begun.id}` } };
}

export async function handleGetOperation(
  { actor, parameters }: KeepRequest,
  { database }: KeepDependencies,
): Promise<HttpResponse> {
  const row = await findOperation(database, actor.accountId, readId(parameters["operation"]));
  if (row === undefined || !allowsVault(actor.grant, row.vault_id))
    throw requestFailure({ kind: "not-found" });
  return jsonResponse(describeOperation(row));
}
