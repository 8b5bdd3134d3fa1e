import { type Answer, jsonAnswer, type WholeAnswer } from "@hearth-and-keep/http-service";
import {
  batch,
  batchOutcome,
  deletionQuery,
  newSecret,
  type SecretMetadata,
  secret,
  secretChanges,
} from "@hearth-and-keep/vault-contract";
import { readChange, readId, readPlace } from "../access/read-change.ts";
import { entityTagOf } from "../access/read-conditions.ts";
import { reachesPath } from "../authorization/grant.ts";
import { requestFailure } from "../failures.ts";
import { type KeepCall, type KeepRoute, takes } from "../route-row.ts";
import { changeMetadata } from "./change-metadata.ts";
import { deleteSecret, purgeSecret, restoreSecret } from "./delete-secret.ts";
import { describeSecret } from "./describe-secret.ts";
import { refuseUnlessReached } from "./path-access.ts";
import { findListed } from "./queries.ts";
import { runBatch } from "./run-batch.ts";
import { joinPath, parseFolder, parseSecretPath, type SecretPath } from "./secret-path.ts";
import { decodeValue } from "./value-content.ts";
import { writeSecret } from "./write-secret.ts";

const vault = "/api/secrets/vaults/:vault";
const byPath = `${vault}/secrets/by-path/*`;
const one = `${vault}/secrets/:secret`;

export const secretRoutes: readonly KeepRoute[] = [
  {
    method: "PUT",
    path: byPath,
    access: "actor",
    scope: "secrets:write",
    summary: "Write a value to a path: a new secret, or a new version",
    answers: { 200: { json: secret }, 201: { json: secret } },
    ...takes({ body: newSecret }, async (call, parts) => {
      const { value, encoding, type, tags, note } = call.body;
      const { result } = await writeSecret(
        readChange(call, parts),
        { path: pathOf(call), value: decodeValue(value, encoding), type, tags, note: readNote(note) },
        parts,
      );
      return secretAnswer(result.secret, result.isNew ? 201 : 200);
    }),
  },
  {
    method: "GET",
    path: byPath,
    access: "actor",
    scope: "secrets:list",
    summary: "What is known of the secret at a path, without its value",
    answers: { 200: { json: secret } },
    handle: async (call, { database }) => {
      const path = pathOf(call);
      refuseUnlessReached(call.actor.grant, path.path);
      const found = await findListed(database, readPlace(call), path);
      if (found === undefined) throw requestFailure({ kind: "not-found" });
      return secretAnswer(describeSecret(found));
    },
  },
  {
    method: "GET",
    path: one,
    access: "actor",
    scope: "secrets:list",
    summary: "What is known of a secret, without its value",
    answers: { 200: { json: secret } },
    handle: async (call, { database }) => {
      const found = await findListed(database, readPlace(call), { id: readId(call.parameters["secret"]) });
      if (found === undefined || !reachesPath(call.actor.grant, joinPath(found.folder, found.name))) {
        throw requestFailure({ kind: "not-found" });
      }
      return secretAnswer(describeSecret(found));
    },
  },
  {
    method: "PATCH",
    path: one,
    access: "actor",
    scope: "secrets:write",
    summary: "Rename, move, tag or annotate a secret; its versions stay",
    answers: { 200: { json: secret } },
    ...takes({ body: secretChanges }, async (call, parts) => {
      const { name, folder, tags, note } = call.body;
      const changes = {
        id: readId(call.parameters["secret"]),
        name,
        folder: folder === undefined ? undefined : parseFolder(folder, "folder"),
        tags,
        note: readNote(note),
      };
      return secretAnswer((await changeMetadata(readChange(call, parts), changes, parts)).result);
    }),
  },
  {
    method: "DELETE",
    path: one,
    access: "actor",
    scope: "secrets:delete",
    summary: "Delete a secret for 30 days; with purge for good",
    answers: { 204: "empty" },
    ...takes({ query: deletionQuery }, async (call, parts) => {
      const isForGood = call.query.purge === "true";
      if (isForGood && !call.actor.grant.scopes.has("secrets:destroy")) {
        throw requestFailure({ kind: "insufficient-scope", scope: "secrets:destroy" });
      }
      const id = readId(call.parameters["secret"]);
      await (isForGood ? purgeSecret : deleteSecret)(readChange(call, parts), id, parts);
      return { status: 204 };
    }),
  },
  {
    method: "POST",
    path: `${one}/restore`,
    access: "actor",
    scope: "secrets:write",
    summary: "Bring a deleted secret back",
    answers: { 200: { json: secret } },
    handle: async (call, parts) => {
      const id = readId(call.parameters["secret"]);
      return secretAnswer((await restoreSecret(readChange(call, parts), id, parts)).result);
    },
  },
  {
    method: "POST",
    path: `${vault}/batch`,
    access: "actor",
    scope: "secrets:write",
    summary: "Several changes that stand or fall together",
    answers: { 200: { json: batchOutcome } },
    ...takes({ body: batch }, async (call, parts): Promise<Answer> => {
      const { result } = await runBatch(readChange(call, parts), call.body.operations, parts);
      return jsonAnswer(result);
    }),
  },
];

function pathOf({ parameters }: Pick<KeepCall, "parameters">): SecretPath {
  return parseSecretPath(parameters["*"] ?? "");
}

/** A half of a character would be stored as another. */
function readNote(note: string | null | undefined): string | null | undefined {
  if (typeof note !== "string" || note.isWellFormed()) return note;
  const reason = "must not have halves of characters";
  throw requestFailure({ kind: "request-invalid", mistakes: [{ place: "note", reason }] });
}

export function secretAnswer(metadata: SecretMetadata, status = 200): WholeAnswer {
  const { headers, ...answer } = jsonAnswer(metadata, status);
  return { ...answer, headers: { ...headers, etag: entityTagOf(metadata.revision) } };
}
