/**
 * @module
 * Reads one value, by the secret's id or path, as JSON or as raw bytes. The checks, the decryption and the audit record
 * are in `read-value.ts`.
 * Imported by `routes.ts`.
 */
import { type BufferedResponse, type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import type { SecretValue, valueByPathQuery, valueQuery } from "@hearth-and-keep/vault-contract";
import { readId, readVaultRef } from "../../access/read-change.ts";
import type { KeepDependencies } from "../../dependencies.ts";
import { entityTagOf } from "../../preconditions.ts";
import type { KeepRequest, QueryRequest } from "../../route-row.ts";
import { expandReferences } from "../exchange/expand-references.ts";
import { type DecryptedValue, readValue, type ValueSelector } from "../read-value.ts";
import { parseSecretPath } from "../secret-path.ts";
import { encodeValue } from "../value-content.ts";

export async function handleReadValue(
  request: QueryRequest<typeof valueQuery>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const version = request.query.version === undefined ? null : Number(request.query.version);
  return valueResponse(request, { id: readId(request.parameters["secret"]), version }, dependencies);
}

export async function handleReadValueByPath(
  request: QueryRequest<typeof valueByPathQuery>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  return valueResponse(request, { path: parseSecretPath(request.parameters["*"] ?? "") }, dependencies);
}

async function valueResponse(
  request: KeepRequest<unknown, { readonly expand?: "references" }>,
  selector: ValueSelector,
  dependencies: KeepDependencies,
): Promise<BufferedResponse> {
  const { vaultId } = readVaultRef(request);
  const stored = await readValue(request.actor, { vaultId, selector }, dependencies);
  const [value = stored] =
    request.query.expand === "references"
      ? await expandReferences(request.actor, { vaultId, values: [stored] }, dependencies)
      : [];
  const etag = entityTagOf(value.revision);
  if (acceptsBytes(request.headers["accept"])) {
    // Sent as a download, so that a browser never renders a stored file in Keep's origin.
    const headers = { "content-type": "application/octet-stream", "content-disposition": "attachment", etag };
    return { status: 200, headers, body: value.value };
  }
  const { headers, ...response } = jsonResponse(describeValue(value));
  return { ...response, headers: { ...headers, etag } };
}

function describeValue({ id, path, version, type, value, note }: DecryptedValue): SecretValue {
  return { id, path, version, type, ...encodeValue(value, type), ...(note === undefined ? {} : { note }) };
}

/** Only when named first; a wildcard gets JSON. */
function acceptsBytes(accept: KeepRequest["headers"][string]): boolean {
  return typeof accept === "string" && /^\s*application\/octet-stream\s*(?:;|,|$)/iu.test(accept);
}
