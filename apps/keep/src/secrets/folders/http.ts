import { type BufferedResponse, type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import type { folderDeletionQuery, folderMove, newFolder } from "@hearth-and-keep/vault-contract";
import { readChange } from "../../access/read-change.ts";
import type { KeepDependencies } from "../../dependencies.ts";
import { entityTagOf } from "../../preconditions.ts";
import type { BodyRequest, QueryRequest } from "../../route-row.ts";
import { parseFolder } from "../secret-path.ts";
import { createFolder, deleteFolder, type FolderOutcome, moveFolder } from "./change-folders.ts";

export async function handleCreateFolder(
  request: BodyRequest<typeof newFolder>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const path = parseFolder(request.body.path);
  const { result } = await createFolder(readChange(request, dependencies), path, dependencies);
  return jsonResponse(result.folder, result.isNew ? 201 : 200);
}

export async function handleDeleteFolder(
  request: QueryRequest<typeof folderDeletionQuery>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const { path, recursive } = request.query;
  const deletion = { path: parseFolder(path), recursive: recursive === "true" };
  const { result } = await deleteFolder(readChange(request, dependencies), deletion, dependencies);
  return outcomeResponse(result);
}

export async function handleMoveFolder(
  request: BodyRequest<typeof folderMove>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const move = { from: parseFolder(request.body.from, "from"), to: parseFolder(request.body.to, "to") };
  const { result } = await moveFolder(readChange(request, dependencies), move, dependencies);
  return outcomeResponse(result);
}

/** The ETag is the vault's: preconditions of folder changes are checked against the vault's revision. */
function outcomeResponse(outcome: FolderOutcome): BufferedResponse {
  const { headers, ...response } = jsonResponse(outcome);
  return { ...response, headers: { ...headers, etag: entityTagOf(outcome.revision) } };
}
