/**
 * @module
 * Lists secrets by name, folders, and the versions of a secret, a page at a time. Guarantees that a page contains only
 * what the caller's path patterns allow, and never a value.
 * Imported by `routes.ts`.
 */
import { type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import type { folderListQuery, pageQuery, secretListQuery } from "@hearth-and-keep/vault-contract";
import { readId, readVaultRef } from "../../access/read-change.ts";
import { allowsFolder, allowsPath } from "../../authorization/grant.ts";
import { pathPrefixes } from "../../authorization/path-patterns.ts";
import { decodeCursor, scanPage, toPage } from "../../cursor.ts";
import type { KeepDependencies } from "../../dependencies.ts";
import { requestFailure } from "../../failures.ts";
import { isId } from "../../generate-id.ts";
import type { QueryRequest } from "../../route-row.ts";
import { readVault } from "../../vaults/queries.ts";
import { pathCursorOf, pathFilter, toPathCursor } from "../allowed-paths.ts";
import { describeSecret } from "../describe-secret.ts";
import { listFolders } from "../folders/queries.ts";
import { findSecretMetadata, listDeletedSecrets, listSecrets } from "../queries.ts";
import { joinPath, parseFolder } from "../secret-path.ts";
import { listVersions, type VersionRow } from "../versions/queries.ts";

const maxItems = 200;

export async function handleListSecrets(
  request: QueryRequest<typeof secretListQuery>,
  { database }: KeepDependencies,
): Promise<HttpResponse> {
  const { actor, query } = request;
  const vaultRef = readVaultRef(request);
  const limit = readLimit(query.limit);
  const search = {
    folder: parseFolder(query.path ?? "/"),
    recursive: query.recursive === "true",
    text: query.q ?? null,
    tag: query.tag ?? null,
    prefixes: pathPrefixes(actor.grant.paths),
  };
  const isDeleted = query.state === "deleted";
  const after = decodeCursor(query.cursor, (values) =>
    isDeleted ? values.length === 1 && values.every(isId) : values.length === 2,
  );
  const [vault, { page, next }] = await Promise.all([
    readVault(database, vaultRef),
    scanPage({
      limit,
      after,
      isAllowed: pathFilter(actor.grant),
      read: (position, rows) =>
        isDeleted
          ? listDeletedSecrets(database, vaultRef, { ...search, limit: rows, after: position?.[0] ?? null })
          : listSecrets(database, vaultRef, { ...search, limit: rows, after: toPathCursor(position) }),
      cursorOf: (row) => (isDeleted ? [row.id] : pathCursorOf(row)),
    }),
  ]);
  if (vault === undefined) throw requestFailure({ kind: "not-found" });
  return jsonResponse({ items: page.map(describeSecret), next_cursor: next });
}

export async function handleListFolders(
  request: QueryRequest<typeof folderListQuery>,
  { database }: KeepDependencies,
): Promise<HttpResponse> {
  const { actor, query } = request;
  const vaultRef = readVaultRef(request);
  const limit = readLimit(query.limit);
  const [after = null] = decodeCursor(query.cursor, (values) => values.length === 1) ?? [];
  const within = parseFolder(query.path ?? "/");
  const recursive = query.recursive === "true";
  const [vault, rows] = await Promise.all([
    readVault(database, vaultRef),
    listFolders(database, vaultRef, { within, recursive, after, limit: limit + 1 }),
  ]);
  if (vault === undefined) throw requestFailure({ kind: "not-found" });
  const { page, next } = toPage(rows, limit, ({ path }) => [path]);
  const items = page
    .filter(({ path }) => allowsFolder(actor.grant, path))
    .map(({ path, created_at }) => ({ path, created_at: created_at.toISOString() }));
  return jsonResponse({ items, next_cursor: next });
}

export async function handleListVersions(
  request: QueryRequest<typeof pageQuery>,
  { database }: KeepDependencies,
): Promise<HttpResponse> {
  const vaultRef = readVaultRef(request);
  const secretId = readId(request.parameters["secret"]);
  const limit = readLimit(request.query.limit);
  const [before] =
    decodeCursor(request.query.cursor, ([version = ""]) => /^[1-9]\d{0,8}$/u.test(version)) ?? [];
  const [secret, rows] = await Promise.all([
    findSecretMetadata(database, vaultRef, { id: secretId }),
    listVersions(
      database,
      { ...vaultRef, secretId },
      { before: before === undefined ? null : Number(before), limit: limit + 1 },
    ),
  ]);
  if (secret === undefined || !allowsPath(request.actor.grant, joinPath(secret.folder, secret.name))) {
    throw requestFailure({ kind: "not-found" });
  }
  const { page, next } = toPage(rows, limit, ({ version }) => [String(version)]);
  return jsonResponse({ items: page.map(describeVersion), next_cursor: next });
}

function readLimit(text: string | undefined): number {
  return text === undefined ? maxItems : Number(text);
}

function describeVersion({ version, type, size, created_at, created_by, destroyed_at }: VersionRow) {
  return {
    version,
    type,
    size,
    created_at: created_at.toISOString(),
    created_by,
    ...(destroyed_at === null ? {} : { destroyed_at: destroyed_at.toISOString() }),
  };
}
