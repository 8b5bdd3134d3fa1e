import { invalidField, requestFailure } from "../../../failures.ts";
import { createId } from "./output-item.ts";
import type { KeyRecords, StoredItem, StoredRecord } from "./stored-record.ts";

export type Metadata = Readonly<Record<string, string>>;

export type ConversationObject = {
  readonly id: string;
  readonly object: "conversation";
  readonly created_at: number;
  readonly metadata: Metadata;
};

/** As many as one request may have. */
const maxConversationItems = 16_384;

export function createConversation(
  records: KeyRecords,
  { items, metadata }: { readonly items: readonly StoredItem[]; readonly metadata: Metadata },
): ConversationObject {
  const id = createId("conv");
  const created_at = Math.floor(Date.now() / 1000);
  const conversation: ConversationObject = { id, object: "conversation", created_at, metadata };
  save(records, { id, head: JSON.stringify(conversation), input: items, output: [] });
  return conversation;
}

/** `field` names the id, unless it is in the URL. */
export function findConversation(records: KeyRecords, id: string, field?: string): StoredRecord {
  const record = id.startsWith("conv_") ? records.find(id) : undefined;
  if (record !== undefined) return record;
  throw requestFailure({
    kind: "stored-object-not-found",
    object: "conversation",
    ...(field === undefined ? {} : { field }),
    reason: `with id "${id}" not found`,
  });
}

export function readConversation({ head }: StoredRecord): ConversationObject {
  // Written by `createConversation` or `updateConversation`.
  return JSON.parse(head) as ConversationObject;
}

export function updateConversation(
  records: KeyRecords,
  record: StoredRecord,
  metadata: Metadata,
): ConversationObject {
  const conversation = { ...readConversation(record), metadata };
  save(records, { ...record, head: JSON.stringify(conversation) });
  return conversation;
}

/** Rejects a conversation that cannot take `count` more items. */
export function requireRoom({ input }: StoredRecord, count: number, field: string): void {
  if (input.length + count <= maxConversationItems) return;
  throw invalidField(
    field,
    `has ${input.length} items, and ${maxConversationItems} are the maximum; create another`,
  );
}

export function appendItems(records: KeyRecords, record: StoredRecord, items: readonly StoredItem[]): void {
  save(records, { ...record, input: [...record.input, ...items] });
}

/** Adds the turn of a response. A conversation that grows beyond what can be stored is deleted, not left incomplete. */
export function appendTurn(records: KeyRecords, id: string, items: readonly StoredItem[]): void {
  const record = records.find(id);
  // Deleted while the response was generated.
  if (record === undefined) return;
  if (!records.save({ ...record, input: [...record.input, ...items] })) records.delete(id);
}

export function deleteItem(records: KeyRecords, record: StoredRecord, itemId: string): ConversationObject {
  save(records, { ...record, input: record.input.filter(({ id }) => id !== itemId) });
  return readConversation(record);
}

function save(records: KeyRecords, record: StoredRecord): void {
  if (records.save(record)) return;
  throw invalidField(
    "items",
    "exceed the memory for the stored responses of this key; create another conversation",
  );
}
