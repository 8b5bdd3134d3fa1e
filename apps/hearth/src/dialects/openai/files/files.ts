/**
 * @module
 * `/v1/files`: files that other requests name by their id, and the results of batches. They are kept in memory and belong
 * to the API key that uploaded them.
 * Imported by `routes.ts`, and by `batches/`, which reads and writes files.
 */
import { type HttpResponse, jsonResponse, type MultipartForm } from "@hearth-and-keep/http-service";
import { type Static, Type } from "typebox";
import { createStoredId } from "../../../batches/batches.ts";
import { createFile, type StoredFile } from "../../../batches/stored-file.ts";
import type { HearthDependencies, HearthRequest } from "../../../dependencies.ts";
import { requestFailure } from "../../../failures.ts";
import { ignoredHeader } from "../../../ignored-header.ts";
import { listPage } from "../list-page.ts";
import { readUpload } from "./read-upload.ts";

const id = Type.String({ maxLength: 1024 });

/** The query of a list of files; parameters that are not listed are allowed, ignored and named in the response. */
export const fileListQuery = Type.Object({
  after: Type.Optional(id),
  limit: Type.Optional(Type.String({ pattern: "^\\d{1,5}$", maxLength: 5 })),
  order: Type.Optional(Type.Enum(["asc", "desc"])),
  purpose: Type.Optional(Type.String({ maxLength: 64 })),
});

/** As the original service has it. */
const pageLimits = { defaultLimit: 10_000, maxLimit: 10_000 };

/** What an entry of a map and its objects occupy beside the content, estimated generously. */
const fileOverheadBytes = 2048;

type Dependencies = Pick<HearthDependencies, "batches" | "files">;

export function handleCreateFile(request: HearthRequest, { batches, files }: Dependencies): HttpResponse {
  const { keyName } = request.actor;
  // The row has `body: "form"`.
  const { upload, ignored } = readUpload(request.body as MultipartForm);
  request.addResponseHeaders(ignoredHeader({ fields: ignored }));
  files.checkRoom(keyName);
  const reservation = batches.ledger.reserve(keyName, upload.content.length + fileOverheadBytes);
  const { lifetimeSeconds = batches.limits.retentionSeconds, ...rest } = upload;
  const file = createFile({ ...rest, id: createStoredId("file-"), reservation, lifetimeSeconds });
  files.add(keyName, file);
  return jsonResponse(writeFile(file));
}

export function handleListFiles(
  request: Omit<HearthRequest, "query"> & { readonly query: Static<typeof fileListQuery> },
  { files }: Dependencies,
): HttpResponse {
  const { purpose } = request.query;
  const all = files.list(request.actor.keyName);
  const selected = purpose === undefined ? all : all.filter((file) => file.purpose === purpose);
  const page = listPage(selected, request.query, pageLimits);
  return jsonResponse({ ...page, data: page.data.map(writeFile) });
}

export function handleGetFile(request: HearthRequest, dependencies: Dependencies): HttpResponse {
  return jsonResponse(writeFile(findFile(request, dependencies)));
}

/** As bytes to save, whatever they are: a browser must not interpret them. */
export function handleFileContent(request: HearthRequest, dependencies: Dependencies): HttpResponse {
  return {
    status: 200,
    headers: {
      "content-type": "application/octet-stream",
      "content-disposition": "attachment",
      "x-content-type-options": "nosniff",
    },
    body: findFile(request, dependencies).content,
  };
}

export function handleDeleteFile(request: HearthRequest, dependencies: Dependencies): HttpResponse {
  const file = findFile(request, dependencies);
  dependencies.files.delete(request.actor.keyName, file.id);
  return jsonResponse({ id: file.id, object: "file", deleted: true });
}

function findFile({ actor, parameters }: HearthRequest, { files }: Dependencies): StoredFile {
  const wanted = parameters["id"] ?? "";
  const file = files.find(actor.keyName, wanted);
  if (file !== undefined) return file;
  const reason = `with id "${wanted}" not found`;
  throw requestFailure({ kind: "stored-object-not-found", object: "file", reason });
}

function writeFile({ id: fileId, content, createdAt, deletedAt, fileName, purpose }: StoredFile) {
  return {
    id: fileId,
    object: "file",
    bytes: content.length,
    created_at: toSeconds(createdAt.getTime()),
    expires_at: toSeconds(deletedAt),
    filename: fileName,
    purpose,
    status: "processed",
  } as const;
}

function toSeconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000);
}
