import { type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import { readId, readIdempotencyKey, readVaultRef } from "../../access/read-change.ts";
import { allowsVault } from "../../authorization/grant.ts";
import type { KeepDependencies } from "../../dependencies.ts";
import { requestFailure } from "../../failures.ts";
import type { KeepRequest } from "../../route-row.ts";
import { findOperation } from "./queries.ts";
import { describeOperation, rotateDataKey } from "./rotate-data-key.ts";

export async function handleRotateKey(
  request: KeepRequest,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const { vaultId } = readVaultRef(request);
  const idempotencyKey = readIdempotencyKey(request, dependencies.serverKeys);
  const operation = await rotateDataKey(request.actor, { vaultId, idempotencyKey }, dependencies);
  const response = jsonResponse({ operation }, 202);
  return {
    ...response,
    headers: { ...response.headers, location: `/api/secrets/operations/${operation.id}` },
  };
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
