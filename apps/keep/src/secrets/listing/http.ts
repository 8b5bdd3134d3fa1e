/**
 * @module
 * Requests for lists: secrets by name, folders, and versions of one secret, a page at a time. Promises that a page holds
 * only what its reader reaches, and never a value.
 * Imported by `routes.ts`.
 */
import { jsonAnswer } from "@hearth-and-keep/http-service";
import {
  folderListQuery,
  folderPage,
  pageQuery,
  secretListQuery,
  secretPage,
  versionPage,
} from "@hearth-and-keep/vault-contract";
import { readId, readPlace } from "../../access/read-change.ts";
import { reachesPath } from "../../authorization/grant.ts";
import { cutPage, readCursor } from "../../cursor.ts";
import { requestFailure } from "../../failures.ts";
import { isId } from "../../make-id.ts";
import { type KeepRoute, takes } from "../../route-row.ts";
import { readVault } from "../../vaults/queries.ts";
import { describeSecret } from "../describe-secret.ts";
import { listFolders } from "../folders/queries.ts";
import { reachExpressions, reachesInto } from "../path-access.ts";
import { findListed, listDeletedSecrets, listSecrets } from "../queries.ts";
import { joinPath, parseFolder } from "../secret-path.ts";
import { listVersions, type VersionRow } from "../versions/queries.ts";

const mostItems = 200;
const vault = "/api/secrets/vaults/:vault";

export const listRoutes: readonly KeepRoute[] = [
  {
    method: "GET",
    path: `${vault}/secrets`,
    access: "actor",
    scope: "secrets:list",
    summary: "Secrets by name, without their values",
    answers: { 200: { json: secretPage } },
    ...takes({ query: secretListQuery }, async (call, { database }) => {
      const { actor, query } = call;
      const place = readPlace(call);
      const limit = readLimit(query.limit);
      const search = {
        folder: parseFolder(query.path ?? "/"),
        recursive: query.recursive === "true",
        text: query.q ?? null,
        tag: query.tag ?? null,
        reach: reachExpressions(actor.grant),
        limit: limit + 1,
      };
      const isDeleted = query.state === "deleted";
      const after = readCursor(query.cursor, (parts) =>
        isDeleted ? parts.length === 1 && parts.every(isId) : parts.length === 2,
      );
      const [known, rows] = await Promise.all([
        readVault(database, place),
        isDeleted
          ? listDeletedSecrets(database, place, { ...search, after: after?.[0] ?? null })
          : listSecrets(database, place, { ...search, after: pairOf(after) }),
      ]);
      if (known === undefined) throw requestFailure({ kind: "not-found" });
      const { page, next } = cutPage(rows, limit, (row) => (isDeleted ? [row.id] : [row.folder, row.name]));
      return jsonAnswer({ items: page.map(describeSecret), next_cursor: next });
    }),
  },
  {
    method: "GET",
    path: `${vault}/folders`,
    access: "actor",
    scope: "secrets:list",
    summary: "Folders within a folder",
    answers: { 200: { json: folderPage } },
    ...takes({ query: folderListQuery }, async (call, { database }) => {
      const { actor, query } = call;
      const place = readPlace(call);
      const limit = readLimit(query.limit);
      const [after = null] = readCursor(query.cursor, (parts) => parts.length === 1) ?? [];
      const within = parseFolder(query.path ?? "/");
      const recursive = query.recursive === "true";
      const [known, rows] = await Promise.all([
        readVault(database, place),
        listFolders(database, place, { within, recursive, after, limit: limit + 1 }),
      ]);
      if (known === undefined) throw requestFailure({ kind: "not-found" });
      const { page, next } = cutPage(rows, limit, ({ path }) => [path]);
      const items = page
        .filter(({ path }) => reachesInto(actor.grant, path))
        .map(({ path, created_at }) => ({ path, created_at: created_at.toISOString() }));
      return jsonAnswer({ items, next_cursor: next });
    }),
  },
  {
    method: "GET",
    path: `${vault}/secrets/:secret/versions`,
    access: "actor",
    scope: "secrets:list",
    summary: "The versions of a secret, the newest first, without their values",
    answers: { 200: { json: versionPage } },
    ...takes({ query: pageQuery }, async (call, { database }) => {
      const place = readPlace(call);
      const secretId = readId(call.parameters["secret"]);
      const limit = readLimit(call.query.limit);
      const [before] =
        readCursor(call.query.cursor, ([version = ""]) => /^[1-9]\d{0,8}$/u.test(version)) ?? [];
      const [secret, rows] = await Promise.all([
        findListed(database, place, { id: secretId }),
        listVersions(
          database,
          { ...place, secretId },
          { before: before === undefined ? null : Number(before), limit: limit + 1 },
        ),
      ]);
      if (secret === undefined || !reachesPath(call.actor.grant, joinPath(secret.folder, secret.name))) {
        throw requestFailure({ kind: "not-found" });
      }
      const { page, next } = cutPage(rows, limit, ({ version }) => [String(version)]);
      return jsonAnswer({ items: page.map(describeVersion), next_cursor: next });
    }),
  },
];

function readLimit(text: string | undefined): number {
  return text === undefined ? mostItems : Number(text);
}

function pairOf(parts: readonly string[] | null): readonly [string, string] | null {
  const [folder, name] = parts ?? [];
  return folder === undefined || name === undefined ? null : [folder, name];
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
