import { type BufferedResponse, type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import type {
  batch,
  deletionQuery,
  newSecret,
  SecretMetadata,
  secretChanges,
} from "@hearth-and-keep/vault-contract";
import { readChange, readId, readVaultRef } from "../access/read-change.ts";
import { allowsPath, assertPathAllowed, assertScopeAllowed, type Reach } from "../authorization/grant.ts";
import type { KeepDependencies } from "../dependencies.ts";
import { requestFailure } from "../failures.ts";
import { entityTagOf } from "../preconditions.ts";
import type { BodyRequest, KeepRequest, QueryRequest } from "../route-row.ts";
import { updateMetadata } from "./change-metadata.ts";
import type { SecretTarget } from "./change-secret.ts";
import { deleteSecret, purgeSecret, restoreSecret } from "./delete-secret.ts";
import { describeSecret } from "./describe-secret.ts";
import { findSecretMetadata } from "./queries.ts";
import { runBatch } from "./run-batch.ts";
import { joinPath, parseFolder, parseSecretPath, type SecretPath } from "./secret-path.ts";
import { decodeValue } from "./value-content.ts";
import { writeSecret } from "./write-secret.ts";

export async function handleWriteSecret(
  request: BodyRequest<typeof newSecret>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const { value, encoding, type, tags, note } = request.body;
  const { result } = await writeSecret(
    readChange(request, dependencies),
    { path: readPath(request), value: decodeValue(value, encoding), type, tags, note: readNote(note) },
    dependencies,
  );
  return secretResponse(result.secret, result.isNew ? 201 : 200);
}

export async function handleGetSecretByPath(
  request: KeepRequest,
  { database }: KeepDependencies,
): Promise<HttpResponse> {
  const path = readPath(request);
  assertPathAllowed(request.actor.grant, readReach(request, "secrets:list"), path.path);
  const found = await findSecretMetadata(database, readVaultRef(request), path);
  if (found === undefined) throw requestFailure({ kind: "not-found" });
  return secretResponse(describeSecret(found));
}

export async function handleGetSecret(
  request: KeepRequest,
  { database }: KeepDependencies,
): Promise<HttpResponse> {
  const id = readId(request.parameters["secret"]);
  const found = await findSecretMetadata(database, readVaultRef(request), { id });
  const reach = readReach(request, "secrets:list");
  if (found === undefined || !allowsPath(request.actor.grant, reach, joinPath(found.folder, found.name)))
    throw requestFailure({ kind: "not-found" });
  return secretResponse(describeSecret(found));
}

export async function handleUpdateSecret(
  request: BodyRequest<typeof secretChanges>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const { name, folder, tags, note, egress } = request.body;
  const changes = {
    target: readTarget(request),
    name,
    folder: folder === undefined ? undefined : parseFolder(folder, "folder"),
    tags,
    note: readNote(note),
    egress,
  };
  const { result } = await updateMetadata(readChange(request, dependencies), changes, dependencies);
  return secretResponse(result);
}

export async function handleDeleteSecret(
  request: QueryRequest<typeof deletionQuery>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const isPurge = request.query.purge === "true";
  if (isPurge) assertScopeAllowed(request.actor.grant, readReach(request, "secrets:destroy"));
  const target = readTarget(request);
  await (isPurge ? purgeSecret : deleteSecret)(readChange(request, dependencies), target, dependencies);
  return { status: 204 };
}

export async function handleRestoreSecret(
  request: KeepRequest,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const id = readId(request.parameters["secret"]);
  const { result } = await restoreSecret(readChange(request, dependencies), id, dependencies);
  return secretResponse(result);
}

export async function handleBatch(
  request: BodyRequest<typeof batch>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const { result } = await runBatch(readChange(request, dependencies), request.body.operations, dependencies);
  return jsonResponse(result);
}

function readReach(request: Pick<KeepRequest, "actor" | "parameters">, scope: Reach["scope"]): Reach {
  return { scope, vaultId: readVaultRef(request).vaultId };
}

/** Rows by id have a parameter for it; rows by path have a wildcard. */
function readTarget(request: Pick<KeepRequest, "parameters">): SecretTarget {
  const { secret } = request.parameters;
  return secret === undefined ? { path: readPath(request) } : { id: readId(secret) };
}

function readPath({ parameters }: Pick<KeepRequest, "parameters">): SecretPath {
  return parseSecretPath(parameters["*"] ?? "");
}

/** UTF-8 encoding would silently replace a lone surrogate with U+FFFD. */
function readNote(note: string | null | undefined): string | null | undefined {
  if (typeof note !== "string" || note.isWellFormed()) return note;
  const reason = "must not contain lone surrogates";
  throw requestFailure({ kind: "request-invalid", errors: [{ field: "note", reason }] });
}

/** Metadata with the secret's revision as its ETag. */
export function secretResponse(metadata: SecretMetadata, status = 200): BufferedResponse {
  const { headers, ...response } = jsonResponse(metadata, status);
  return { ...response, headers: { ...headers, etag: entityTagOf(metadata.revision) } };
}
