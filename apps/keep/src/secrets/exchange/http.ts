/**
 * @module
 * Bulk reads and writes of a vault: many values in one response, import and export of files, and references from one
 * value to another. Guarantees that an import is atomic, that values round-trip byte for byte, and that every value is
 * in the audit log before it leaves, including values read only through a reference.
 * Imported by `routes.ts`; `values/` uses the references.
 */
import { type HttpResponse, jsonResponse, textResponse } from "@hearth-and-keep/http-service";
import type {
  ExportedFile,
  exportQuery,
  ImportReport,
  importQuery,
  importRequest,
  SecretValueMap,
  SecretValues,
  valuesQuery,
} from "@hearth-and-keep/vault-contract";
import type { Static } from "typebox";
import { readChange, readVaultRef } from "../../access/read-change.ts";
import type { KeepDependencies } from "../../dependencies.ts";
import { requestFailure } from "../../failures.ts";
import { readPreconditions } from "../../preconditions.ts";
import type { KeepRequest, QueryRequest } from "../../route-row.ts";
import { readInheritance } from "../environments/read-inheritance.ts";
import { parseFolder } from "../secret-path.ts";
import { encodeValue } from "../value-content.ts";
import { exportFile } from "./export-file.ts";
import { importFile } from "./import-file.ts";
import { readSelected, readSelectionState, type SelectedValue, type Selection } from "./select-values.ts";

export async function handleReadValues(
  request: QueryRequest<typeof valuesQuery>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const { inherit, ids, as } = request.query;
  assertCombinable(request.query);
  const plain = { ...readSelection(request), ids: ids?.split(",") ?? null };
  const inheritance =
    inherit === "true" ? await readInheritance(request.actor, plain, dependencies) : undefined;
  const selection = { ...plain, inheritance };
  const { noneMatch } = readPreconditions(request.headers);
  const state = await readSelectionState(request.actor, selection, dependencies);
  const { revision } = state;
  const tag = as === "map" ? `${state.tag}-map` : state.tag;
  const headers = { etag: `"${tag}"` };
  if (noneMatch !== undefined && (noneMatch === "any" || noneMatch.has(tag))) return { status: 304, headers };
  const values = await readSelected(request.actor, { selection, event: "values-read" }, dependencies);
  const response = jsonResponse(
    as === "map"
      ? describeMap(revision, values)
      : ({ revision, items: values.map(describeValue) } satisfies SecretValues),
  );
  return { ...response, headers: { ...response.headers, ...headers } };
}

function assertCombinable({ ids, inherit, recursive, as }: Static<typeof valuesQuery>): void {
  // Without an environment's other secrets, it is unknown which of the base's values they replace.
  if (inherit === "true" && ids !== undefined) throw mustBeAbsent("ids", "inherit");
  if (as !== "map") return;
  // Secrets of several folders can have the same name.
  if (ids !== undefined) throw mustBeAbsent("ids", "as=map");
  if (recursive === "true") throw mustBeAbsent("recursive", "as=map");
}

function mustBeAbsent(field: string, other: string): Error {
  const reason = `must be absent with ${other}`;
  return requestFailure({ kind: "request-invalid", errors: [{ field, reason }] });
}

export async function handleImport(
  request: KeepRequest<Static<typeof importRequest>, Static<typeof importQuery>>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const { format = "dotenv", path = "/", mode = "create", dry_run } = request.query;
  const isDryRun = dry_run === "true";
  const file = { format, folder: parseFolder(path), mode, isDryRun, content: request.body.content };
  const { revision, ...outcome } = await importFile(readChange(request, dependencies), file, dependencies);
  return jsonResponse({ dry_run: isDryRun, revision, ...outcome } satisfies ImportReport);
}

export async function handleExport(
  request: QueryRequest<typeof exportQuery>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const { format = "dotenv" } = request.query;
  const selection = readSelection(request);
  const file = await exportFile(request.actor, { selection, format }, dependencies);
  const response = prefersText(request.headers["accept"])
    ? textResponse(file.content)
    : jsonResponse({ format, path: selection.folder, ...file } satisfies ExportedFile);
  return { ...response, headers: { ...response.headers, vary: "accept" } };
}

/** Clients that accept both, as many do by default, get JSON. */
function prefersText(accept: string | readonly string[] | undefined): boolean {
  const types = [accept ?? []]
    .flat()
    .join()
    .split(",")
    .map((type) => type.split(";", 1)[0]?.trim().toLowerCase());
  return types.includes("text/plain") && !types.includes("application/json");
}

/** The file alone, for a request of type text/plain. */
export function readTextFile(content: string): Static<typeof importRequest> {
  return { content };
}

type SelectionQuery = {
  readonly path?: string;
  readonly recursive?: "true" | "false";
  readonly names?: string;
  readonly expand?: "references";
};

function readSelection(request: KeepRequest<unknown, SelectionQuery>): Selection {
  const { path = "/", recursive, names, expand } = request.query;
  return {
    vaultId: readVaultRef(request).vaultId,
    folder: parseFolder(path),
    recursive: recursive === "true",
    names: names?.split(",") ?? null,
    ids: null,
    isExpanded: expand === "references",
  };
}

function describeValue({ id, path, from, name, version, type, value }: SelectedValue) {
  const source = from === undefined ? {} : { from };
  return { id, path, ...source, name, version, type, ...encodeValue(value, type) };
}

function describeMap(revision: number, selected: readonly SelectedValue[]): SecretValueMap {
  const encoded = selected.map(({ name, value, type }) => ({ name, ...encodeValue(value, type) }));
  return {
    revision,
    values: Object.fromEntries(encoded.map(({ name, value }) => [name, value])),
    base64: encoded.filter(({ encoding }) => encoding === "base64").map(({ name }) => name),
  };
}
