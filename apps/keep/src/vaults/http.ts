/**
 * @module
 * Vaults: what holds secrets. `http.ts` turns requests into use cases and their results into answers, each verb has its
 * file, `queries.ts` has the SQL. Promises that what is not the caller's looks as if it were not there.
 * Imported by `routes.ts`.
 */
import { jsonAnswer } from "@hearth-and-keep/http-service";
import { vaultList } from "@hearth-and-keep/vault-contract";
import type { KeepRoute } from "../route-row.ts";
import { listVaults, type VaultRow } from "./queries.ts";

export const vaultRoutes: readonly KeepRoute[] = [
  {
    method: "GET",
    path: "/api/secrets/vaults",
    access: "actor",
    scope: "vaults:read",
    summary: "The vaults of the account",
    answers: { 200: { json: vaultList } },
    handle: async ({ actor }, { database }) => {
      const ids = actor.grant.vaultIds === undefined ? null : [...actor.grant.vaultIds];
      const rows = await listVaults(database, actor.accountId, { ids, after: null, limit: 200 });
      return jsonAnswer(rows.map(describeVault));
    },
  },
];

function describeVault({ id, name, is_encrypted, created_at }: VaultRow) {
  return { id, name, is_encrypted, created_at: created_at.toISOString() };
}
