/**
 * @module
 * Vaults: what holds secrets. `http.ts` turns requests into use cases and their results into answers, each verb has its
 * file, `queries.ts` has the SQL. Promises that what is not the caller's looks as if it were not there.
 * Imported by `routes.ts` and by what happens in vaults.
 */
import { jsonAnswer, type WholeAnswer } from "@hearth-and-keep/http-service";
import {
  deletionQuery,
  newVault,
  vaultChanges,
  vaultDetail,
  vaultList,
  vaultListQuery,
} from "@hearth-and-keep/vault-contract";
import { readOnce } from "../access/idempotency-key.ts";
import { readChange, readPlace } from "../access/read-change.ts";
import { entityTagOf } from "../access/read-conditions.ts";
import { cutPage, readCursor } from "../cursor.ts";
import { requestFailure } from "../failures.ts";
import { isId } from "../make-id.ts";
import { type KeepRoute, takes } from "../route-row.ts";
import { changeSettings } from "./change-settings.ts";
import { createVault } from "./create-vault.ts";
import { deleteVault, purgeVault, restoreVault } from "./delete-vault.ts";
import { describeVault, describeVaultDetail, type VaultDetail } from "./describe-vault.ts";
import { listDeletedVaults, listVaults, readVault } from "./queries.ts";

const pageItems = 200;
const list = "/api/secrets/vaults";
const one = "/api/secrets/vaults/:vault";

export const vaultRoutes: readonly KeepRoute[] = [
  {
    method: "GET",
    path: list,
    access: "actor",
    scope: "vaults:read",
    summary: "The vaults of the account",
    answers: { 200: { json: vaultList } },
    ...takes({ query: vaultListQuery }, async ({ actor, query }, { database }) => {
      const limit = query.limit === undefined ? pageItems : Number(query.limit);
      const [after = null] = readCursor(query.cursor, ([id = ""]) => isId(id)) ?? [];
      const ids = actor.grant.vaultIds === undefined ? null : [...actor.grant.vaultIds];
      const read = query.state === "deleted" ? listDeletedVaults : listVaults;
      const rows = await read(database, actor.accountId, { ids, after, limit: limit + 1 });
      const { page, next } = cutPage(rows, limit, ({ id }) => [id]);
      const answer = jsonAnswer(page.map(describeVault));
      return next === undefined ? answer : withLink(answer, { ...query, limit: String(limit), cursor: next });
    }),
  },
  {
    method: "POST",
    path: list,
    access: "actor",
    scope: "vaults:write",
    summary: "Make a vault",
    answers: { 201: { json: vaultDetail } },
    ...takes({ body: newVault }, async (call, parts) => {
      const once = readOnce(call, parts.serverKeys);
      const { result } = await createVault({ actor: call.actor, once }, call.body.name, parts);
      return vaultAnswer(result, 201);
    }),
  },
  {
    method: "GET",
    path: one,
    access: "actor",
    scope: "vaults:read",
    summary: "One vault with its settings",
    answers: { 200: { json: vaultDetail } },
    handle: async (call, { database }) => {
      const row = await readVault(database, readPlace(call));
      if (row === undefined) throw requestFailure({ kind: "not-found" });
      return vaultAnswer(describeVaultDetail(row));
    },
  },
  {
    method: "PATCH",
    path: one,
    access: "actor",
    scope: "vaults:write",
    summary: "Change a vault's name and settings",
    answers: { 200: { json: vaultDetail } },
    ...takes({ body: vaultChanges }, async (call, parts) => {
      const { name, demands_preconditions: demandsPreconditions, most_versions: mostVersions } = call.body;
      const wanted = {
        ...(name === undefined ? {} : { name }),
        ...(demandsPreconditions === undefined ? {} : { demandsPreconditions }),
        ...(mostVersions === undefined ? {} : { mostVersions }),
      };
      const { result } = await changeSettings(readChange(call, parts), wanted, parts);
      return vaultAnswer(result);
    }),
  },
  {
    method: "DELETE",
    path: one,
    access: "actor",
    scope: "vaults:delete",
    summary: "Delete a vault for 30 days; with purge for good",
    answers: { 204: "empty" },
    ...takes({ query: deletionQuery }, async (call, parts) => {
      const isForGood = call.query.purge === "true";
      if (isForGood && !call.actor.grant.scopes.has("secrets:destroy")) {
        throw requestFailure({ kind: "insufficient-scope", scope: "secrets:destroy" });
      }
      await (isForGood ? purgeVault : deleteVault)(readChange(call, parts), parts);
      return { status: 204 };
    }),
  },
  {
    method: "POST",
    path: `${one}/restore`,
    access: "actor",
    scope: "vaults:write",
    summary: "Bring a deleted vault back",
    answers: { 200: { json: vaultDetail } },
    handle: async (call, parts) => vaultAnswer((await restoreVault(readChange(call, parts), parts)).result),
  },
];

function vaultAnswer(vault: VaultDetail, status = 200): WholeAnswer {
  const { headers, ...answer } = jsonAnswer(vault, status);
  return { ...answer, headers: { ...headers, etag: entityTagOf(vault.revision) } };
}

function withLink(answer: WholeAnswer, query: Readonly<Record<string, string>>): WholeAnswer {
  const link = `<${list}?${new URLSearchParams(query).toString()}>; rel="next"`;
  return { ...answer, headers: { ...answer.headers, link } };
}
