/**
 * @module
 * Vaults, which contain secrets. `http.ts` maps requests to use cases and results to responses, each verb has its own
 * file, `queries.ts` has the SQL. Guarantees that another account's vault is indistinguishable from a missing one.
 * Imported by `routes.ts` and by use cases that change the contents of a vault.
 */
import { type BufferedResponse, type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import type { deletionQuery, newVault, vaultChanges, vaultListQuery } from "@hearth-and-keep/vault-contract";
import { readChange, readIdempotencyKey, readVaultRef } from "../access/read-change.ts";
import { assertScopeAllowed, vaultsOf } from "../authorization/grant.ts";
import { decodeCursor, toPage } from "../cursor.ts";
import type { KeepDependencies } from "../dependencies.ts";
import { requestFailure } from "../failures.ts";
import { isId } from "../generate-id.ts";
import { entityTagOf } from "../preconditions.ts";
import type { BodyRequest, KeepRequest, QueryRequest } from "../route-row.ts";
import { updateSettings } from "./change-settings.ts";
import { createVault } from "./create-vault.ts";
import { deleteVault, purgeVault, restoreVault } from "./delete-vault.ts";
import { describeVault, describeVaultDetail, type VaultDetail } from "./describe-vault.ts";
import { listDeletedVaults, listVaults, readVault } from "./queries.ts";
import { readSettings } from "./read-settings.ts";

const pageItems = 200;
const vaultsPath = "/api/secrets/vaults";

export async function handleListVaults(
  { actor, query }: QueryRequest<typeof vaultListQuery>,
  { database }: KeepDependencies,
): Promise<HttpResponse> {
  const limit = query.limit === undefined ? pageItems : Number(query.limit);
  const [after = null] = decodeCursor(query.cursor, ([id = ""]) => isId(id)) ?? [];
  const allowed = vaultsOf(actor.grant, "vaults:read");
  const ids = allowed === undefined ? null : [...allowed];
  const list = query.state === "deleted" ? listDeletedVaults : listVaults;
  const rows = await list(database, actor.accountId, { ids, after, limit: limit + 1 });
  const { page, next } = toPage(rows, limit, ({ id }) => [id]);
  const response = jsonResponse(page.map(describeVault));
  if (next === undefined) return response;
  const nextQuery = new URLSearchParams({ ...query, limit: String(limit), cursor: next });
  const link = `<${vaultsPath}?${nextQuery.toString()}>; rel="next"`;
  return { ...response, headers: { ...response.headers, link } };
}

export async function handleCreateVault(
  request: BodyRequest<typeof newVault>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const { actor, body } = request;
  const idempotencyKey = readIdempotencyKey(request, dependencies.serverKeys);
  const { result } = await createVault({ actor, idempotencyKey }, body.name, dependencies);
  return vaultResponse(result, 201);
}

export async function handleGetVault(
  request: KeepRequest,
  { database }: KeepDependencies,
): Promise<HttpResponse> {
  const row = await readVault(database, readVaultRef(request));
  if (row === undefined) throw requestFailure({ kind: "not-found" });
  return vaultResponse(describeVaultDetail(row));
}

export async function handleUpdateVault(
  request: BodyRequest<typeof vaultChanges>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const { result } = await updateSettings(
    readChange(request, dependencies),
    readSettings(request.body),
    dependencies,
  );
  return vaultResponse(result);
}

export async function handleDeleteVault(
  request: QueryRequest<typeof deletionQuery>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const isPurge = request.query.purge === "true";
  const { vaultId } = readVaultRef(request);
  if (isPurge) assertScopeAllowed(request.actor.grant, { scope: "secrets:destroy", vaultId });
  await (isPurge ? purgeVault : deleteVault)(readChange(request, dependencies), dependencies);
  return { status: 204 };
}

export async function handleRestoreVault(
  request: KeepRequest,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const { result } = await restoreVault(readChange(request, dependencies), dependencies);
  return vaultResponse(result);
}

export function vaultResponse(vault: VaultDetail, status = 200): BufferedResponse {
  const { headers, ...response } = jsonResponse(vault, status);
  return { ...response, headers: { ...headers, etag: entityTagOf(vault.revision) } };
}
