/**
 * @module
 * Lists secrets by name, folders, and the versions of a secret, a page at a time. Guarantees that a page contains only
 * what the caller's path patterns allow, and never a value.
 * Imported by `routes.ts`.
 */
import { type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import type {
  folderListQuery,
  pageQuery,
  SecretSort,
  secretListQuery,
} from "@hearth-and-keep/vault-contract";
import type { Static } from "typebox";
import { readId, readVaultRef } from "../../access/read-change.ts";
import { allowsFolder, allowsPath, pathListsOf } from "../../authorization/grant.ts";
import { pathPrefixes } from "../../authorization/path-patterns.ts";
import { decodeCursor, type Page, type Scan, scanPage, toPage } from "../../cursor.ts";
import type { KeepDependencies } from "../../dependencies.ts";
import { requestFailure } from "../../failures.ts";
import { isId } from "../../generate-id.ts";
import type { VaultRef } from "../../keys/vault-keys.ts";
import type { QueryRequest } from "../../route-row.ts";
import { readVault } from "../../vaults/queries.ts";
import { pathFilter } from "../allowed-paths.ts";
import { describeSecret } from "../describe-secret.ts";
import { listFolders } from "../folders/queries.ts";
import { findSecretMetadata, type SecretMetadataRow } from "../queries.ts";
import { joinPath, parseFolder } from "../secret-path.ts";
import { listVersions, type VersionRow } from "../versions/queries.ts";
import {
  type ListCursor,
  type ListedSecret,
  listDeletedSecrets,
  listSecrets,
  orderOf,
  type SecretSearch,
} from "./queries.ts";

const maxItems = 200;
const scope = "secrets:list" as const;

export async function handleListSecrets(
  request: QueryRequest<typeof secretListQuery>,
  { database }: KeepDependencies,
): Promise<HttpResponse> {
  const { actor, query } = request;
  const vaultRef = readVaultRef(request);
  const reach = { scope, vaultId: vaultRef.vaultId };
  const search = {
    folder: parseFolder(query.path ?? "/"),
    recursive: query.recursive === "true",
    text: query.q ?? null,
    tag: query.tag ?? null,
    prefixes: pathPrefixes(pathListsOf(actor.grant, reach).at(0)),
  };
  const page = { limit: readLimit(query.limit), isAllowed: pathFilter(actor.grant, reach) };
  const [vault, { page: rows, next }] = await Promise.all([
    readVault(database, vaultRef),
    query.state === "deleted"
      ? scanDeleted({ database, vaultRef, search, page }, query)
      : scanSecrets({ database, vaultRef, search, page }, query),
  ]);
  if (vault === undefined) throw requestFailure({ kind: "not-found" });
  return jsonResponse({ items: rows.map(describeSecret), next_cursor: next });
}

type ListScan = {
  readonly database: KeepDependencies["database"];
  readonly vaultRef: VaultRef;
  readonly search: Omit<SecretSearch, "limit">;
  readonly page: Pick<Scan<SecretMetadataRow>, "limit" | "isAllowed">;
};

type ListQuery = Pick<Static<typeof secretListQuery>, "cursor" | "sort">;

async function scanDeleted(
  { database, vaultRef, search, page }: ListScan,
  { cursor, sort }: ListQuery,
): Promise<Page<SecretMetadataRow>> {
  if (sort !== undefined) {
    const reason = "must be absent in a list of deleted secrets";
    throw requestFailure({ kind: "request-invalid", errors: [{ field: "sort", reason }] });
  }
  return scanPage<SecretMetadataRow>({
    ...page,
    after: decodeCursor(cursor, (values) => values.length === 1 && values.every(isId)),
    read: (position, limit) =>
      listDeletedSecrets(database, vaultRef, { ...search, limit, after: position?.[0] ?? null }),
    cursorOf: ({ id }) => [id],
  });
}

async function scanSecrets(
  { database, vaultRef, search, page }: ListScan,
  { cursor, sort = "name" }: ListQuery,
): Promise<Page<SecretMetadataRow>> {
  return scanPage<ListedSecret>({
    ...page,
    after: decodeCursor(cursor, (values) => isListCursor(values, sort)),
    read: (position, limit) =>
      listSecrets(database, vaultRef, { ...search, limit, sort, after: toListCursor(position) }),
    cursorOf: ({ sort_key, id, name }) => [sort_key, orderOf(sort) === "name" ? name : id, ...ofSort(sort)],
  });
}

/** Names the order, so that a cursor is not taken for one of another order. */
function ofSort(sort: SecretSort): readonly string[] {
  return sort === "name" ? [] : [sort];
}

function isListCursor(values: readonly string[], sort: SecretSort): boolean {
  const [key = "", rest = "", ...order] = values;
  const isKey = orderOf(sort) === "name" || (/^\d{1,17}$/u.test(key) && isId(rest));
  return values.length >= 2 && isKey && order.join() === ofSort(sort).join();
}

function toListCursor(values: readonly string[] | null): ListCursor | null {
  const [key, rest] = values ?? [];
  return key === undefined || rest === undefined ? null : [key, rest];
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
  const reach = { scope, vaultId: vaultRef.vaultId };
  const items = page
    .filter(({ path }) => allowsFolder(actor.grant, reach, path))
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
  const reach = { scope, vaultId: vaultRef.vaultId };
  if (secret === undefined || !allowsPath(request.actor.grant, reach, joinPath(secret.folder, secret.name)))
    throw requestFailure({ kind: "not-found" });
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
