import { jsonAnswer, type WholeAnswer } from "@hearth-and-keep/http-service";
import {
  folder,
  folderDeletionQuery,
  folderMove,
  folderOutcome,
  newFolder,
} from "@hearth-and-keep/vault-contract";
import { readChange } from "../../access/read-change.ts";
import { entityTagOf } from "../../access/read-conditions.ts";
import { type KeepRoute, takes } from "../../route-row.ts";
import { parseFolder } from "../secret-path.ts";
import { createFolder, deleteFolder, type FolderOutcome, moveFolder } from "./change-folders.ts";

const folders = "/api/secrets/vaults/:vault/folders";

export const folderRoutes: readonly KeepRoute[] = [
  {
    method: "POST",
    path: folders,
    access: "actor",
    scope: "secrets:write",
    summary: "Make a folder",
    answers: { 200: { json: folder }, 201: { json: folder } },
    ...takes({ body: newFolder }, async (call, parts) => {
      const { result } = await createFolder(readChange(call, parts), parseFolder(call.body.path), parts);
      return jsonAnswer(result.folder, result.isNew ? 201 : 200);
    }),
  },
  {
    method: "DELETE",
    path: folders,
    access: "actor",
    scope: "secrets:delete",
    summary: "Delete a folder, with what is in it when asked",
    answers: { 200: { json: folderOutcome } },
    ...takes({ query: folderDeletionQuery }, async (call, parts) => {
      const wanted = { path: parseFolder(call.query.path), recursive: call.query.recursive === "true" };
      return outcomeAnswer((await deleteFolder(readChange(call, parts), wanted, parts)).result);
    }),
  },
  {
    method: "POST",
    path: `${folders}/move`,
    access: "actor",
    scope: "secrets:write",
    summary: "Move a folder with everything in it",
    answers: { 200: { json: folderOutcome } },
    ...takes({ body: folderMove }, async (call, parts) => {
      const move = { from: parseFolder(call.body.from, "from"), to: parseFolder(call.body.to, "to") };
      return outcomeAnswer((await moveFolder(readChange(call, parts), move, parts)).result);
    }),
  },
];

/** Of the vault, which is what these changes' conditions are held against. */
function outcomeAnswer(result: FolderOutcome): WholeAnswer {
  const { headers, ...answer } = jsonAnswer(result);
  return { ...answer, headers: { ...headers, etag: entityTagOf(result.revision) } };
}
