/**
 * @module
 * Requests for one value: by the secret's id or by its path, as JSON or as the bytes themselves.
 * Promises nothing of its own; what leaves is what `read-value.ts` gives.
 * Imported by `routes.ts`.
 */
import { jsonAnswer, type WholeAnswer } from "@hearth-and-keep/http-service";
import { type SecretValue, secretValue, valueByPathQuery, valueQuery } from "@hearth-and-keep/vault-contract";
import { readId, readPlace } from "../../access/read-change.ts";
import { entityTagOf } from "../../access/read-conditions.ts";
import type { KeepParts } from "../../dependencies.ts";
import { type KeepCall, type KeepRoute, takes } from "../../route-row.ts";
import { expandReferences } from "../exchange/expand-references.ts";
import { type OpenedValue, readValue, type WantedValue } from "../read-value.ts";
import { parseSecretPath } from "../secret-path.ts";
import { encodeValue } from "../value-content.ts";

const vault = "/api/secrets/vaults/:vault";

export const valueRoutes: readonly KeepRoute[] = [
  {
    method: "GET",
    path: `${vault}/secrets/:secret/value`,
    access: "actor",
    scope: "secrets:read",
    summary: "The value of a secret, or of one of its versions",
    answers: { 200: { json: secretValue } },
    ...takes({ query: valueQuery }, (call, parts) => {
      const version = call.query.version === undefined ? null : Number(call.query.version);
      return answerValue(call, { id: readId(call.parameters["secret"]), version }, parts);
    }),
  },
  {
    method: "GET",
    path: `${vault}/values/by-path/*`,
    access: "actor",
    scope: "secrets:read",
    summary: "The value of the secret at a path",
    answers: { 200: { json: secretValue } },
    ...takes({ query: valueByPathQuery }, (call, parts) =>
      answerValue(call, { path: parseSecretPath(call.parameters["*"] ?? "") }, parts),
    ),
  },
];

type ValueCall = KeepCall<unknown, { readonly expand?: "references" }>;

async function answerValue(call: ValueCall, wanted: WantedValue, parts: KeepParts): Promise<WholeAnswer> {
  const { vaultId } = readPlace(call);
  const stored = await readValue(call.actor, { vaultId, wanted }, parts);
  const expands = call.query.expand === "references";
  const [opened = stored] = expands
    ? await expandReferences(call.actor, { vaultId, values: [stored] }, parts)
    : [];
  const etag = entityTagOf(opened.revision);
  if (wantsBytes(call.headers["accept"])) {
    // A file that somebody stored is never a page of ours.
    const headers = { "content-type": "application/octet-stream", "content-disposition": "attachment", etag };
    return { status: 200, headers, body: opened.value };
  }
  const { headers, ...answer } = jsonAnswer(describeValue(opened));
  return { ...answer, headers: { ...headers, etag } };
}

function describeValue({ id, path, version, type, value, note }: OpenedValue): SecretValue {
  return { id, path, version, type, ...encodeValue(value, type), ...(note === undefined ? {} : { note }) };
}

/** Asked for by name; whoever takes anything gets JSON. */
function wantsBytes(accept: KeepCall["headers"][string]): boolean {
  return typeof accept === "string" && /^\s*application\/octet-stream\s*(?:;|,|$)/iu.test(accept);
}
