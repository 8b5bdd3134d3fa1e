import { hash } from "node:crypto";
import type { StoredFile, StoredRepository } from "./repository.ts";

export type TreeEntry = {
  readonly type: "file" | "directory";
  readonly path: string;
  readonly size: number;
  readonly oid: string;
  readonly lfs?: { readonly oid: string; readonly size: number; readonly pointerSize: number };
};

type TreePage = {
  readonly entries: readonly TreeEntry[];
  /** The query of the next page, if there is one. */
  readonly next?: URLSearchParams;
};

/** One page of the files and folders under a folder; the query has "recursive", "limit" and "cursor". */
export function listTree(
  repository: StoredRepository,
  query: URLSearchParams,
  { folder, pageSize }: { readonly folder: string; readonly pageSize: number },
): TreePage {
  const isRecursive = ["1", "true"].includes(query.get("recursive") ?? "");
  const prefix = folder === "" ? "" : `${folder}/`;
  const all = listEntries(repository.files)
    .filter(({ path }) => path.startsWith(prefix))
    .filter(({ path }) => isRecursive || !path.slice(prefix.length).includes("/"));
  const limit = Math.min(Number(query.get("limit") ?? pageSize) || pageSize, pageSize);
  const start = Number(Buffer.from(query.get("cursor") ?? "", "base64url").toString()) || 0;
  const entries = all.slice(start, start + limit);
  if (start + limit >= all.length) return { entries };
  const next = new URLSearchParams(query);
  next.set("limit", String(limit));
  next.set("cursor", Buffer.from(String(start + limit)).toString("base64url"));
  return { entries, next };
}

function listEntries(files: readonly StoredFile[]): TreeEntry[] {
  const folders = new Set(files.flatMap(({ path }) => foldersOf(path)));
  return [...[...folders].map(describeFolder), ...files.map(describeFile)].toSorted((left, right) =>
    left.path < right.path ? -1 : 1,
  );
}

function foldersOf(path: string): string[] {
  const segments = path.split("/").slice(0, -1);
  return segments.map((_, index) => segments.slice(0, index + 1).join("/"));
}

function describeFolder(path: string): TreeEntry {
  return { type: "directory", path, size: 0, oid: hash("sha1", path) };
}

function describeFile({ path, size, oid, sha256, pointerSize }: StoredFile): TreeEntry {
  const entry: TreeEntry = { type: "file", path, size, oid };
  return pointerSize === undefined ? entry : { ...entry, lfs: { oid: sha256, size, pointerSize } };
}
