import { type Answer, jsonAnswer } from "@hearth-and-keep/http-service";
import {
  type ApiToken,
  apiToken,
  issuedToken,
  leakedTokens,
  leakedTokensAnswer,
  type NewToken,
  newToken,
  revocationQuery,
  tokenChange,
  tokenPage,
  tokenQuery,
  tokenRotation,
} from "@hearth-and-keep/vault-contract";
import { readOnce } from "../access/idempotency-key.ts";
import { readId } from "../access/read-change.ts";
import { readScope } from "../authorization/scopes.ts";
import { requestFailure } from "../failures.ts";
import { type KeepRoute, takes } from "../route-row.ts";
import { type IssuedToken, mintToken, readBack, type TokenWish } from "./mint-token.ts";
import { listTokens, type TokenRow } from "./queries.ts";
import { revokeLeaked, revokeToken } from "./revoke-token.ts";
import { renameToken, rotateToken } from "./rotate-token.ts";
import { fingerprintOf } from "./token-format.ts";

const usualPage = 100;
/** For those who found something; a scanner sends a hundred at a time. */
const leakReportsPerMinute = 20;

// biome-ignore format: a table is read down its columns
export const tokenRoutes: readonly KeepRoute[] = [
  { method: "GET", path: "/api/secrets/tokens", access: "actor", scope: "tokens:read", summary: "The tokens of the account", answers: { 200: { json: tokenPage } },
    ...takes({ query: tokenQuery }, async ({ actor, query }, { database }) => {
      const limit = Number(query.limit ?? usualPage);
      const page = { isRevoked: query.state === "revoked", after: query.cursor ?? null, limit: limit + 1 };
      const rows = await listTokens(database, actor.accountId, page);
      const items = rows.slice(0, limit).map(describeToken);
      return jsonAnswer({ items, ...(rows.length > limit ? { next_cursor: items.at(-1)?.id } : {}) });
    }) },
  { method: "POST", path: "/api/secrets/tokens", access: "fresh", scope: "tokens:write", summary: "Make a token; its value is in this answer and in no other", answers: { 201: { json: issuedToken } },
    ...takes({ body: newToken }, async (call, parts) => {
      const once = readOnce(call, parts.serverKeys);
      return answerIssued(await mintToken(call.actor, { wish: readWish(call.body), once }, parts), 201);
    }) },
  { method: "GET", path: "/api/secrets/tokens/self", access: "actor", scope: "any", summary: "The token that asks", answers: { 200: { json: apiToken } },
    handle: async ({ actor }, { database }) => {
      if (actor.kind !== "token") throw requestFailure({ kind: "not-found" });
      return jsonAnswer(describeToken(await readBack(database, actor.accountId, actor.id)));
    } },
  { method: "POST", path: "/api/secrets/tokens/leaked", access: "public", addressLimit: { name: "leaked", perMinute: leakReportsPerMinute }, summary: "End tokens that were found where they should not be", answers: { 200: { json: leakedTokensAnswer } },
    ...takes({ body: leakedTokens }, async ({ body }, parts) => jsonAnswer(await revokeLeaked(body.tokens, parts))) },
  { method: "GET", path: "/api/secrets/tokens/:token", access: "actor", scope: "tokens:read", summary: "One token", answers: { 200: { json: apiToken } },
    handle: async ({ actor, parameters }, { database }) =>
      jsonAnswer(describeToken(await readBack(database, actor.accountId, readId(parameters["token"])))) },
  { method: "PATCH", path: "/api/secrets/tokens/:token", access: "actor", scope: "tokens:write", summary: "Give a token another name", answers: { 200: { json: apiToken } },
    ...takes({ body: tokenChange }, async (call, parts) => {
      const tokenId = readId(call.parameters["token"]);
      const once = readOnce(call, parts.serverKeys);
      return jsonAnswer(describeToken(await renameToken(call.actor, { tokenId, name: call.body.name, once }, parts)));
    }) },
  { method: "DELETE", path: "/api/secrets/tokens/:token", access: "actor", scope: "tokens:write", summary: "Revoke a token and those made with it; with wait=all, answer when no node takes it any more", answers: { 204: "empty" },
    ...takes({ query: revocationQuery }, async (call, parts) => {
      const tokenId = readId(call.parameters["token"]);
      const once = readOnce(call, parts.serverKeys);
      await revokeToken(call.actor, { tokenId, waitsForAll: call.query.wait === "all", once }, parts);
      return { status: 204 };
    }) },
  { method: "POST", path: "/api/secrets/tokens/:token/rotate", access: "fresh", scope: "tokens:write", summary: "Give a token a new value; the old one holds for grace_seconds", answers: { 200: { json: issuedToken } },
    ...takes({ body: tokenRotation }, async (call, parts) => {
      const tokenId = readId(call.parameters["token"]);
      const rotation = { tokenId, graceSeconds: call.body.grace_seconds ?? 0, once: readOnce(call, parts.serverKeys) };
      return answerIssued(await rotateToken(call.actor, rotation, parts), 200);
    }) },
];

function readWish({ name, scopes, vault_ids, paths, addresses, expires_at }: NewToken): TokenWish {
  return {
    name,
    scopes,
    vaultIds: vault_ids ?? null,
    paths: paths ?? null,
    addresses: addresses ?? null,
    expiresAt: expires_at == null ? null : new Date(expires_at),
  };
}

function answerIssued({ token, value }: IssuedToken, status: number): Answer {
  return jsonAnswer({ ...describeToken(token), value }, status);
}

function describeToken(row: TokenRow): ApiToken {
  return {
    id: row.id,
    name: row.name,
    fingerprint: fingerprintOf(row.tokenHash),
    scopes: row.scopes.flatMap((word) => readScope(word) ?? []),
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
    revoke_reason: reasonOf(row.revokeReason),
  };
}

const reasons = ["asked", "leaked", "account-deleted", "parent-revoked"] as const;

function reasonOf(word: string | null): ApiToken["revoke_reason"] {
  return reasons.find((reason) => reason === word) ?? null;
}
