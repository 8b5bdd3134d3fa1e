import { type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import type {
  ApiToken,
  leakedTokens,
  NewToken,
  newOrganisationToken,
  newToken,
  revocationQuery,
  tokenChange,
  tokenQuery,
  tokenRotation,
} from "@hearth-and-keep/vault-contract";
import { readId, readIdempotencyKey } from "../access/read-change.ts";
import { parseScope } from "../authorization/scopes.ts";
import type { KeepDependencies } from "../dependencies.ts";
import { requestFailure } from "../failures.ts";
import type { BodyRequest, KeepRequest, QueryRequest } from "../route-row.ts";
import {
  createMemberToken,
  createToken,
  getToken,
  type IssuedToken,
  isVisibleTo,
  type TokenSpec,
  visibleOwner,
} from "./create-token.ts";
import { listTokens, type TokenRow } from "./queries.ts";
import { revokeLeaked, revokeOwnToken, revokeToken } from "./revoke-token.ts";
import { renameToken, rotateToken } from "./rotate-token.ts";
import { fingerprintOf } from "./token-format.ts";

const defaultPageItems = 100;

export async function handleListTokens(
  { actor, query }: QueryRequest<typeof tokenQuery>,
  { database }: KeepDependencies,
): Promise<HttpResponse> {
  const limit = Number(query.limit ?? defaultPageItems);
  const visibleTo = visibleOwner(actor) ?? null;
  const isRevoked = query.state === "revoked";
  const page = { isRevoked, visibleTo, after: query.cursor ?? null, limit: limit + 1 };
  const rows = await listTokens(database, actor.accountId, page);
  const items = rows.slice(0, limit).map(describeToken);
  return jsonResponse({ items, ...(rows.length > limit ? { next_cursor: items.at(-1)?.id } : {}) });
}

export async function handleCreateToken(
  request: BodyRequest<typeof newToken>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const expiresAt = readExpiry(request, dependencies.tokenLifetimeDays);
  const spec = { ...readSpec(request.body), expiresAt };
  const idempotencyKey = readIdempotencyKey(request, dependencies.serverKeys);
  return issuedResponse(await createToken(request.actor, { spec, idempotencyKey }, dependencies), 201);
}

export async function handleCreateMemberToken(
  request: BodyRequest<typeof newOrganisationToken>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const { for: owner, ...body } = request.body;
  const expiresAt = readExpiry(request, dependencies.tokenLifetimeDays);
  const spec = { ...readSpec(body), expiresAt };
  const idempotencyKey = readIdempotencyKey(request, dependencies.serverKeys);
  const isOwn = owner === "me";
  return issuedResponse(
    await createMemberToken(request.actor, { spec, isOwn, idempotencyKey }, dependencies),
    201,
  );
}

export async function handleGetOwnToken(
  { actor }: KeepRequest,
  { database }: KeepDependencies,
): Promise<HttpResponse> {
  if (actor.kind !== "token") throw requestFailure({ kind: "not-found" });
  return jsonResponse(describeToken(await getToken(database, actor.accountId, actor.id)));
}

/** Needs no scope: whoever holds a token may end it. */
export async function handleRevokeOwnToken(
  { actor }: KeepRequest,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  if (actor.kind !== "token") throw requestFailure({ kind: "not-found" });
  await revokeOwnToken(actor, dependencies);
  return { status: 204 };
}

export async function handleReportLeakedTokens(
  { body }: BodyRequest<typeof leakedTokens>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  return jsonResponse(await revokeLeaked(body.tokens, dependencies));
}

export async function handleGetToken(
  { actor, parameters }: KeepRequest,
  { database }: KeepDependencies,
): Promise<HttpResponse> {
  const tokenId = readId(parameters["token"]);
  const token = await getToken(database, actor.accountId, tokenId);
  if (!isVisibleTo(actor, token)) throw requestFailure({ kind: "not-found" });
  return jsonResponse(describeToken(token));
}

export async function handleRenameToken(
  request: BodyRequest<typeof tokenChange>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const tokenId = readId(request.parameters["token"]);
  const idempotencyKey = readIdempotencyKey(request, dependencies.serverKeys);
  const renaming = { tokenId, name: request.body.name, idempotencyKey };
  return jsonResponse(describeToken(await renameToken(request.actor, renaming, dependencies)));
}

export async function handleRevokeToken(
  request: QueryRequest<typeof revocationQuery>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const tokenId = readId(request.parameters["token"]);
  const idempotencyKey = readIdempotencyKey(request, dependencies.serverKeys);
  const waitsForAll = request.query.wait === "all";
  await revokeToken(request.actor, { tokenId, waitsForAll, idempotencyKey }, dependencies);
  return { status: 204 };
}

export async function handleRotateToken(
  request: BodyRequest<typeof tokenRotation>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const tokenId = readId(request.parameters["token"]);
  const idempotencyKey = readIdempotencyKey(request, dependencies.serverKeys);
  const rotation = { tokenId, graceSeconds: request.body.grace_seconds ?? 0, idempotencyKey };
  return issuedResponse(await rotateToken(request.actor, rotation, dependencies), 200);
}

const dayMilliseconds = 86_400_000;

/** By default as late as the setting and the creator's own expiry allow; null, which must be sent, is never. */
function readExpiry(
  {
    actor,
    body: { expires_at: given },
  }: Pick<BodyRequest<typeof newToken | typeof newOrganisationToken>, "actor" | "body">,
  lifetimeDays: number,
): Date | null {
  if (given !== undefined) return given === null ? null : new Date(given);
  const latest = actor.grant.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY;
  return new Date(Math.min(Date.now() + lifetimeDays * dayMilliseconds, latest));
}

function readSpec({ name, scopes, vault_ids, paths, addresses }: NewToken): Omit<TokenSpec, "expiresAt"> {
  return {
    name,
    scopes,
    vaultIds: vault_ids ?? null,
    paths: paths ?? null,
    addresses: addresses ?? null,
  };
}

function issuedResponse({ token, value }: IssuedToken, status: number): HttpResponse {
  return jsonResponse({ ...describeToken(token), value }, status);
}

function describeToken(row: TokenRow): ApiToken {
  return {
    id: row.id,
    ...(row.ownerId === null ? {} : { owner_id: row.ownerId }),
    name: row.name,
    fingerprint: fingerprintOf(row.tokenHash),
    scopes: row.scopes.flatMap((scope) => parseScope(scope) ?? []),
    vault_ids: row.vaultIds === null ? null : [...row.vaultIds],
    paths: row.paths === null ? null : [...row.paths],
    addresses: row.addresses === null ? null : [...row.addresses],
    expires_at: row.expiresAt?.toISOString() ?? null,
    created_at: row.createdAt.toISOString(),
    created_by: row.createdBy,
    rotated_at: row.rotatedAt?.toISOString() ?? null,
    last_used_at: row.lastUsedAt?.toISOString() ?? null,
    last_used_address: row.lastUsedAddress,
    revoked_at: row.revokedAt?.toISOString() ?? null,
    revoke_reason: parseRevokeReason(row.revokeReason),
  };
}

const revokeReasons = [
  "asked",
  "leaked",
  "account-deleted",
  "parent-revoked",
  "member-removed",
  "vault-transferred",
] as const;

function parseRevokeReason(text: string | null): ApiToken["revoke_reason"] {
  return revokeReasons.find((reason) => reason === text) ?? null;
}
