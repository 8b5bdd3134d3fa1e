import { type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import { readId, readIdempotencyKey, readVaultRef } from "../../access/read-change.ts";
import { allowsReach } from "../../authorization/grant.ts";
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
    headers: { ...response.headers, location: `${operationsPath(request)}/${operation.id}` },
  };
}

/** A session finds the organisation by its vault. */
function operationsPath({ actor, parameters }: KeepRequest): string {
  return actor.personId === undefined
    ? "/api/secrets/operations"
    : `/api/secrets/vaults/${parameters["vault"]}/operations`;
}

export async function handleGetOperation(
  { actor, parameters }: KeepRequest,
  { database }: KeepDependencies,
): Promise<HttpResponse> {
  const row = await findOperation(database, actor.accountId, readId(parameters["operation"]));
  const { vault = row?.vault_id } = parameters;
  const isVisible =
    row !== undefined &&
    row.vault_id === vault &&
    allowsReach(actor.grant, { scope: "keys:rotate", vaultId: row.vault_id });
  if (!isVisible) throw requestFailure({ kind: "not-found" });
  return jsonResponse(describeOperation(row));
}
