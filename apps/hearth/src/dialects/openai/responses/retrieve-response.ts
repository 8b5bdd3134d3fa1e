import { type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import { type Static, Type } from "typebox";
import type { HearthDependencies, HearthRequest } from "../../../dependencies.ts";
import { invalidField, requestFailure } from "../../../failures.ts";
import { type ListQuery, listItems } from "./list-items.ts";
import type { KeyRecords, StoredRecord } from "./stored-record.ts";
import { readResponse } from "./stored-responses.ts";

/** The query of a stored response; parameters that are not listed are allowed, ignored and named in the response. */
export const responseQuery = Type.Object({ stream: Type.Optional(Type.String({ maxLength: 16 })) });

type Dependencies = Pick<HearthDependencies, "responses">;
type StoredRequest = Pick<HearthRequest, "actor" | "parameters">;

/** `GET /v1/responses/{id}`. The events of a stored response are not kept, so they cannot be streamed again. */
export function handleGetResponse(
  request: StoredRequest & { readonly query: Static<typeof responseQuery> },
  dependencies: Dependencies,
): HttpResponse {
  const { record } = open(request, dependencies);
  const { stream } = request.query;
  if (stream !== undefined && stream !== "false") {
    throw invalidField("stream", "must be false: the events of stored responses cannot be replayed");
  }
  return jsonResponse(readResponse(record));
}

export async function handleDeleteResponse(
  request: StoredRequest,
  dependencies: Dependencies,
): Promise<HttpResponse> {
  const { records, record } = open(request, dependencies);
  records.delete(record.id);
  await records.flush();
  return jsonResponse({ id: record.id, object: "response", deleted: true });
}

/** Only background responses run without a client that waits, and there are none. */
export function handleCancelResponse(request: StoredRequest, dependencies: Dependencies): HttpResponse {
  const { record } = open(request, dependencies);
  throw invalidField(
    "id",
    `is "${record.id}", which is not a background response; only those can be cancelled`,
  );
}

export function handleListInputItems(
  request: StoredRequest & { readonly query: ListQuery },
  dependencies: Dependencies,
): HttpResponse {
  const { records, record } = open(request, dependencies);
  return jsonResponse(listItems(record.input, request.query, records));
}

type OpenResponse = { readonly records: KeyRecords; readonly record: StoredRecord };

/** The response that the URL names. */
function open({ actor, parameters }: StoredRequest, { responses }: Dependencies): OpenResponse {
  const id = parameters["id"] ?? "";
  const records = responses?.forKey(actor.keyName);
  const record = id.startsWith("resp_") ? records?.find(id) : undefined;
  if (records !== undefined && record !== undefined) return { records, record };
  const reason = `with id "${id}" not found`;
  throw requestFailure({ kind: "stored-object-not-found", object: "response", reason });
}
