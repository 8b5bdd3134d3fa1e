/**
 * @module
 * Vaults, which contain secrets. `http.ts` maps requests to use cases and results to responses, each verb has its own
 * file, `queries.ts` has the SQL. Guarantees that another account's vault is indistinguishable from a missing one.
 * Imported by `routes.ts` and by use cases that change the contents of a vault.
 */
import { type BufferedResponse, type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import type { deletionQuery, newVault, vaultChanges, vaultListQuery } from "@hearth-and-keep/vault-contract";
import { readChange, readIdempotencyKey, readVaultRef } from "../access/read-change.ts";
import { splitPath } from "../authorization/path-patterns.ts";
import { decodeCursor, toPage } from "../cursor.ts";
import type { KeepDependencies } from "../dependencies.ts";
import { requestFailure } from "../failures.ts";
import { isId } from "../generate-id.ts";
import { entityTagOf } from "../preconditions.ts";
import type { BodyRequest, KeepRequest, QueryRequest } from "../route-row.ts";
import { parseFolder } from "../secrets/secret-path.ts";
import { updateSettings } from "./change-settings.ts";
import { createVault } from "./create-vault.ts";
import { deleteVault, purgeVault, restoreVault } from "./delete-vault.ts";
import { describeVault, describeVaultDetail, type VaultDetail } from "./describe-vault.ts";
import { listDeletedVaults, listVaults, readVault } from "./queries.ts";

const pageItems = 200;
const vaultsPath = "/api/secrets/vaults";

export async function handleListVaults(
  { actor, query }: QueryRequest<typeof vaultListQuery>,
  { database }: KeepDependencies,
): Promise<HttpResponse> {
  const limit = query.limit === undefined ? pageItems : Number(query.limit);
  const [after = null] = decodeCursor(query.cursor, ([id = ""]) => isId(id)) ?? [];
  const ids = actor.grant.vaultIds === undefined ? null : [...actor.grant.vaultIds];
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
  const { name, demands_preconditions: requiresPreconditions, most_versions: maxVersions } = request.body;
  const { when_versions_full: policy, environments, base } = request.body;
  const settings = {
    ...(name === undefined ? {} : { name }),
    ...(requiresPreconditions === undefined ? {} : { requiresPreconditions }),
    ...(maxVersions === undefined ? {} : { maxVersions }),
    ...(policy === undefined ? {} : { prunesVersions: policy === "destroy-oldest" }),
    ...(environments === undefined ? {} : { environments: readEnvironments(environments) }),
    ...(base === undefined ? {} : { baseFolder: base === null ? null : parseTopFolder(base, "base") }),
  };
  const { result } = await updateSettings(readChange(request, dependencies), settings, dependencies);
  return vaultResponse(result);
}

export async function handleDeleteVault(
  request: QueryRequest<typeof deletionQuery>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const isPurge = request.query.purge === "true";
  if (isPurge && !request.actor.grant.scopes.has("secrets:destroy")) {
    throw requestFailure({ kind: "insufficient-scope", scope: "secrets:destroy" });
  }
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

function readEnvironments(names: readonly string[]): readonly string[] {
  const folders = names.map((name, index) => parseTopFolder(name, `environments.${index}`));
  const repeated = folders.findIndex((folder, index) => folders.indexOf(folder) !== index);
  if (repeated !== -1) throw invalidSetting(`environments.${repeated}`, "must not be listed twice");
  return folders.map((folder) => folder.slice(1));
}

function parseTopFolder(text: string, field: string): string {
  const folder = parseFolder(text, field);
  if (splitPath(folder).length === 1) return folder;
  throw invalidSetting(field, "must be a folder at the top of the vault");
}

function invalidSetting(field: string, reason: string): Error {
  return requestFailure({ kind: "request-invalid", errors: [{ field, reason }] });
}

function vaultResponse(vault: VaultDetail, status = 200): BufferedResponse {
  const { headers, ...response } = jsonResponse(vault, status);
  return { ...response, headers: { ...headers, etag: entityTagOf(vault.revision) } };
}
