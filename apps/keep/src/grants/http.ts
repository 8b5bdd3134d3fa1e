import { type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import type {
  VaultGrant as DescribedGrant,
  newVaultGrant,
  VaultAccess,
  vaultGrantQuery,
} from "@hearth-and-keep/vault-contract";
import { readId, readIdempotencyKey, readVaultRef } from "../access/read-change.ts";
import { allowsReach } from "../authorization/grant.ts";
import { pathMatcher } from "../authorization/path-patterns.ts";
import type { KeepDependencies } from "../dependencies.ts";
import { requestFailure } from "../failures.ts";
import { noContentAfter } from "../idempotency/http.ts";
import { runIdempotent } from "../idempotency/run-idempotent.ts";
import type { VaultRef } from "../keys/vault-keys.ts";
import { findAccount, readDisplayNames } from "../organisations/queries.ts";
import type { BodyRequest, KeepRequest, QueryRequest } from "../route-row.ts";
import { parseSecretPath } from "../secrets/secret-path.ts";
import { readVault } from "../vaults/queries.ts";
import { createGrant, deleteGrant } from "./change-grants.ts";
import { readTeamNames } from "./queries.ts";
import { readVaultGrants } from "./read-grants.ts";
import type { VaultGrant } from "./vault-grants.ts";

export async function handleListGrants(
  request: QueryRequest<typeof vaultGrantQuery>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const { path } = request.query;
  const wanted = path === undefined ? undefined : parseSecretPath(path).path;
  const vaultRef = readVaultRef(request);
  await assertVaultFound(vaultRef, dependencies);
  const grants = await readVaultGrants(vaultRef, dependencies);
  const shown = grants.filter(
    ({ paths }) => wanted === undefined || paths === null || pathMatcher(paths)(wanted),
  );
  return jsonResponse({ items: await describeGrants(vaultRef.accountId, shown, dependencies) });
}

export async function handleCreateGrant(
  request: BodyRequest<typeof newVaultGrant>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const { actor, body } = request;
  const { accountId, vaultId } = readVaultRef(request);
  const idempotencyKey = readIdempotencyKey(request, dependencies.serverKeys);
  const spec = { holder: body.holder, role: body.role, paths: body.paths ?? null };
  const { result } = await runIdempotent(dependencies.database, { actor, idempotencyKey }, (transaction) =>
    createGrant(transaction, { actor, vaultId, spec }, dependencies),
  );
  const [described] = await describeGrants(accountId, [result], dependencies);
  return jsonResponse(described, 201);
}

export async function handleDeleteGrant(
  request: KeepRequest,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const { actor, parameters } = request;
  const { vaultId } = readVaultRef(request);
  const grantId = readId(parameters["grant"]);
  return noContentAfter(request, dependencies, (transaction) =>
    deleteGrant(transaction, { actor, vaultId, grantId }, dependencies),
  );
}

/** What the caller may do in the vault. */
export async function handleGetAccess(
  request: KeepRequest,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const { grant } = request.actor;
  const vaultRef = readVaultRef(request);
  await assertVaultFound(vaultRef, dependencies);
  const account = await findAccount(dependencies.database, vaultRef.accountId);
  const permissions = grant.permissions
    .filter(({ vaultIds }) => vaultIds === undefined || vaultIds.has(vaultRef.vaultId))
    .map(({ scopes, paths }) => ({
      scopes: [...scopes].filter((scope) => allowsReach(grant, { scope, vaultId: vaultRef.vaultId })),
      paths: paths === undefined ? null : [...paths],
    }))
    .filter(({ scopes }) => scopes.length > 0);
  const organisationId = account?.kind === "organisation" ? vaultRef.accountId : null;
  return jsonResponse({ organisation_id: organisationId, permissions } satisfies VaultAccess);
}

async function assertVaultFound(
  vaultRef: VaultRef,
  { database }: Pick<KeepDependencies, "database">,
): Promise<void> {
  if ((await readVault(database, vaultRef)) === undefined) throw requestFailure({ kind: "not-found" });
}

async function describeGrants(
  accountId: string,
  grants: readonly VaultGrant[],
  { database }: Pick<KeepDependencies, "database">,
): Promise<readonly DescribedGrant[]> {
  const idsOf = (type: VaultGrant["holder"]["type"]): readonly string[] =>
    grants.filter(({ holder }) => holder.type === type).map(({ holder }) => holder.id);
  const [people, teams] = await Promise.all([
    readDisplayNames(database, idsOf("person")),
    readTeamNames(database, accountId, idsOf("team")),
  ]);
  return grants.map(({ id, holder, role, paths, createdAt, createdBy }) => ({
    id,
    holder,
    holder_name: people.get(holder.id) ?? teams.get(holder.id) ?? null,
    role,
    paths: paths === null ? null : [...paths],
    created_at: createdAt,
    created_by: createdBy,
  }));
}
