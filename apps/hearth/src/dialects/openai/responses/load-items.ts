import { invalidField } from "../../../failures.ts";
import type { Items } from "./read-items.ts";
import { storedResponsesFlag } from "./response-store.ts";
import type { InputItem, ResponsesRequest } from "./schema.ts";
import { findConversation, requireRoom } from "./stored-conversations.ts";
import { ItemReader, type KeyRecords, type StoredRecord } from "./stored-record.ts";
import { readHistory } from "./stored-responses.ts";

export type LoadedItems = Items & {
  /** The input as the client sent it, which is what is stored. */
  readonly sent: readonly InputItem[];
  readonly conversationId?: string;
  /** The input ends with `compaction_trigger`: the response is a summary. */
  readonly isCompaction: boolean;
};

/** The items that the model sees: those that the request continues, then the input. */
export function loadItems(
  body: Pick<ResponsesRequest, "input" | "previous_response_id" | "conversation">,
  records: KeyRecords | undefined,
): LoadedItems {
  const reader = new ItemReader(records);
  const sent = readInput(body);
  const conversation = openConversation(body, records);
  const previousId = body.previous_response_id ?? undefined;
  const isCompaction = isTrigger(sent.at(-1));
  const own = (isCompaction ? sent.slice(0, -1) : sent).map((item) => reader.resolve(item));
  if (conversation !== undefined) {
    if (previousId !== undefined)
      throw invalidField("previous_response_id", 'cannot be combined with "conversation"');
    requireRoom(conversation, sent.length, "conversation");
    const previous = withoutTriggers(conversation.input.map((item) => reader.read(item)));
    return { previous, sent, own, conversationId: conversation.id, isCompaction };
  }
  const history = previousId === undefined ? [] : readHistory(records, previousId, reader);
  return { previous: withoutTriggers(history), sent, own, isCompaction };
}

/** The item that asks for a summary of everything before it. */
export function isTrigger(item: InputItem | undefined): boolean {
  return item?.type === "compaction_trigger";
}

/** A stored trigger has had its effect. */
function withoutTriggers(items: readonly InputItem[]): readonly InputItem[] {
  return items.filter((item) => !isTrigger(item));
}

/** The input of a request as items. */
export function readInput({ input }: Pick<ResponsesRequest, "input">): readonly InputItem[] {
  return typeof input === "string" ? [{ type: "message", role: "user", content: input }] : input;
}

function openConversation(
  { conversation }: Pick<ResponsesRequest, "conversation">,
  records: KeyRecords | undefined,
): StoredRecord | undefined {
  if (conversation === undefined || conversation === null) return undefined;
  if (records === undefined) {
    const reason = `requires stored conversations, which are disabled on this server; set ${storedResponsesFlag}`;
    throw invalidField("conversation", reason);
  }
  const id = typeof conversation === "string" ? conversation : conversation.id;
  return findConversation(records, id, "conversation");
}
