import { type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import type { HearthDependencies, HearthRequest } from "../../../dependencies.ts";
import { requestFailure } from "../../../failures.ts";
import { type ListQuery, listItems, showItem } from "./list-items.ts";
import { storedResponsesFlag } from "./response-store.ts";
import type { CreateConversation, CreateItems, UpdateConversation } from "./schema.ts";
import {
  appendItems,
  createConversation,
  deleteItem,
  findConversation,
  readConversation,
  requireRoom,
  updateConversation,
} from "./stored-conversations.ts";
import { type KeyRecords, type StoredItem, type StoredRecord, toStoredItem } from "./stored-record.ts";

type Dependencies = Pick<HearthDependencies, "responses">;
type ConversationRequest<Body = unknown> = Pick<HearthRequest<Body>, "actor" | "parameters" | "body">;
type ListRequest = Omit<ConversationRequest, "query"> & { readonly query: ListQuery };

/** `POST /v1/conversations`; the body may be empty. */
export async function handleCreateConversation(
  request: ConversationRequest<CreateConversation | undefined>,
  dependencies: Dependencies,
): Promise<HttpResponse> {
  const records = recordsOf(request, dependencies);
  const items = (request.body?.items ?? []).map(toStoredItem);
  const created = createConversation(records, { items, metadata: request.body?.metadata ?? {} });
  await records.flush();
  return jsonResponse(created);
}

export function handleGetConversation(
  request: ConversationRequest,
  dependencies: Dependencies,
): HttpResponse {
  return jsonResponse(readConversation(open(request, dependencies).record));
}

export async function handleUpdateConversation(
  request: ConversationRequest<UpdateConversation>,
  dependencies: Dependencies,
): Promise<HttpResponse> {
  const { records, record } = open(request, dependencies);
  const updated = updateConversation(records, record, request.body.metadata ?? {});
  await records.flush();
  return jsonResponse(updated);
}

/** Deletes its items too. Responses that were generated in it are stored separately and stay. */
export async function handleDeleteConversation(
  request: ConversationRequest,
  dependencies: Dependencies,
): Promise<HttpResponse> {
  const { records, record } = open(request, dependencies);
  records.delete(record.id);
  await records.flush();
  return jsonResponse({ id: record.id, object: "conversation.deleted", deleted: true });
}

export function handleListConversationItems(request: ListRequest, dependencies: Dependencies): HttpResponse {
  const { records, record } = open(request, dependencies);
  return jsonResponse(listItems(record.input, request.query, records));
}

export async function handleCreateConversationItems(
  request: ConversationRequest<CreateItems>,
  dependencies: Dependencies,
): Promise<HttpResponse> {
  const { records, record } = open(request, dependencies);
  const items = request.body.items.map(toStoredItem);
  requireRoom(record, items.length, "items");
  appendItems(records, record, items);
  await records.flush();
  return jsonResponse({
    object: "list",
    data: items.map((item) => showItem(item, records)),
    first_id: items.at(0)?.id ?? null,
    last_id: items.at(-1)?.id ?? null,
    has_more: false,
  });
}

export function handleGetConversationItem(
  request: ConversationRequest,
  dependencies: Dependencies,
): HttpResponse {
  const { records, record } = open(request, dependencies);
  return jsonResponse(showItem(itemOf(request, record), records));
}

export async function handleDeleteConversationItem(
  request: ConversationRequest,
  dependencies: Dependencies,
): Promise<HttpResponse> {
  const { records, record } = open(request, dependencies);
  const conversation = deleteItem(records, record, itemOf(request, record).id);
  await records.flush();
  return jsonResponse(conversation);
}

type OpenConversation = { readonly records: KeyRecords; readonly record: StoredRecord };

/** The conversation that the URL names. */
function open(
  request: Pick<ConversationRequest, "actor" | "parameters">,
  dependencies: Dependencies,
): OpenConversation {
  const records = recordsOf(request, dependencies);
  return { records, record: findConversation(records, request.parameters["id"] ?? "") };
}

function itemOf(
  { parameters }: Pick<ConversationRequest, "parameters">,
  { input }: StoredRecord,
): StoredItem {
  const id = parameters["item"] ?? "";
  const item = input.find((each) => each.id === id);
  if (item !== undefined) return item;
  const reason = `with id "${id}" not found in this conversation`;
  throw requestFailure({ kind: "stored-object-not-found", object: "item", reason });
}

function recordsOf({ actor }: Pick<ConversationRequest, "actor">, { responses }: Dependencies): KeyRecords {
  if (responses !== undefined) return responses.forKey(actor.keyName);
  const reason = `storage is disabled on this server; set ${storedResponsesFlag}`;
  throw requestFailure({ kind: "stored-object-not-found", object: "conversation", reason });
}
