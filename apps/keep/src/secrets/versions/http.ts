/**
 * @module
 * Versions of a secret: an older one brought back as a new one, or taken away for good. Promises that numbers are never
 * used twice and that a version's value never changes.
 * Imported by `routes.ts`; the rows are made by whoever writes a secret.
 */
import { secret } from "@hearth-and-keep/vault-contract";
import { readChange, readId } from "../../access/read-change.ts";
import { requestFailure } from "../../failures.ts";
import type { KeepCall, KeepRoute } from "../../route-row.ts";
import { secretAnswer } from "../http.ts";
import { destroyOldVersion, restoreVersion, type WantedVersion } from "./change-versions.ts";

const one = "/api/secrets/vaults/:vault/secrets/:secret/versions/:version";

export const versionRoutes: readonly KeepRoute[] = [
  {
    method: "POST",
    path: `${one}/restore`,
    access: "actor",
    scope: "secrets:write",
    summary: "Make an older version's value that of a new one",
    answers: { 200: { json: secret } },
    handle: async (call, parts) =>
      secretAnswer((await restoreVersion(readChange(call, parts), versionOf(call), parts)).result),
  },
  {
    method: "DELETE",
    path: one,
    access: "actor",
    scope: "secrets:destroy",
    summary: "Destroy the value of an older version",
    answers: { 204: "empty" },
    handle: async (call, parts) => {
      await destroyOldVersion(readChange(call, parts), versionOf(call), parts);
      return { status: 204 };
    },
  },
];

function versionOf({ parameters }: Pick<KeepCall, "parameters">): WantedVersion {
  const version = parameters["version"] ?? "";
  if (!/^[1-9]\d{0,8}$/u.test(version)) throw requestFailure({ kind: "not-found" });
  return { id: readId(parameters["secret"]), version: Number(version) };
}
