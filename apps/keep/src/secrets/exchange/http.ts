/**
 * @module
 * Values in and out of a vault many at a time: all that a program needs in one answer, files to import and export, and
 * references from one value to another. Promises that an import happens as a whole or not at all, that values come back
 * byte for byte, and that whatever leaves was recorded first, also what was read only through a reference.
 * Imported by `routes.ts`; by the handlers of single values for their references.
 */
import { type Answer, jsonAnswer } from "@hearth-and-keep/http-service";
import {
  type ExportedFile,
  exportedFile,
  exportQuery,
  type ImportReport,
  importQuery,
  importReport,
  importRequest,
  type SecretValues,
  secretValues,
  valuesQuery,
} from "@hearth-and-keep/vault-contract";
import { readChange, readPlace } from "../../access/read-change.ts";
import { readConditions } from "../../access/read-conditions.ts";
import type { KeepParts } from "../../dependencies.ts";
import { type KeepCall, type KeepRoute, takes } from "../../route-row.ts";
import type { OpenedValue } from "../read-value.ts";
import { parseFolder } from "../secret-path.ts";
import { encodeValue } from "../value-content.ts";
import { exportFile } from "./export-file.ts";
import { importFile } from "./import-file.ts";
import { readSelected, readSelectionState, type Selection } from "./select-values.ts";

export const exchangeRoutes: readonly KeepRoute[] = [
  {
    method: "GET",
    path: "/api/secrets/vaults/:vault/values",
    access: "actor",
    scope: "secrets:read",
    summary: "Many values in one answer, for a program that starts",
    answers: { 200: { json: secretValues }, 304: "empty" },
    ...takes({ query: valuesQuery }, answerValues),
  },
  {
    method: "POST",
    path: "/api/secrets/vaults/:vault/import",
    access: "actor",
    scope: "secrets:write",
    summary: "Write the secrets of a .env or JSON file, all or none, or show what that would do",
    answers: { 200: { json: importReport } },
    ...takes({ query: importQuery, body: importRequest }, async (call, parts) => {
      const { format, path = "/", mode = "create", dry_run } = call.query;
      const isDryRun = dry_run === "true";
      const wanted = { format, folder: parseFolder(path), mode, isDryRun, content: call.body.content };
      const { revision, ...fates } = await importFile(readChange(call, parts), wanted, parts);
      return jsonAnswer({ dry_run: isDryRun, revision, ...fates } satisfies ImportReport);
    }),
  },
  {
    method: "GET",
    path: "/api/secrets/vaults/:vault/export",
    access: "fresh",
    scope: "secrets:read",
    summary: "The secrets of a folder as a .env or JSON file",
    answers: { 200: { json: exportedFile } },
    ...takes({ query: exportQuery }, async (call, parts) => {
      const { format } = call.query;
      const selection = readSelection(call);
      const file = await exportFile(call.actor, { selection, format }, parts);
      return jsonAnswer({ format, path: selection.folder, ...file } satisfies ExportedFile);
    }),
  },
];

type Selecting = {
  readonly path?: string;
  readonly recursive?: "true" | "false";
  readonly names?: string;
  readonly expand?: "references";
};

function readSelection(call: KeepCall<unknown, Selecting>): Selection {
  const { path = "/", recursive, names, expand } = call.query;
  return {
    vaultId: readPlace(call).vaultId,
    folder: parseFolder(path),
    recursive: recursive === "true",
    names: names?.split(",") ?? null,
    expands: expand === "references",
  };
}

async function answerValues(call: KeepCall<unknown, Selecting>, parts: KeepParts): Promise<Answer> {
  const selection = readSelection(call);
  const { noneMatch } = readConditions(call.headers);
  const { revision, tag } = await readSelectionState(call.actor, selection, parts);
  const headers = { etag: `"${tag}"` };
  if (noneMatch !== undefined && (noneMatch === "any" || noneMatch.has(tag))) return { status: 304, headers };
  const values = await readSelected(call.actor, { selection, event: "values-read" }, parts);
  const answer = jsonAnswer({ revision, items: values.map(describeValue) } satisfies SecretValues);
  return { ...answer, headers: { ...answer.headers, ...headers } };
}

function describeValue({ id, path, name, version, type, value }: OpenedValue) {
  return { id, path, name, version, type, ...encodeValue(value, type) };
}
