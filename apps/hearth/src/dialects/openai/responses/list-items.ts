import { type Static, Type } from "typebox";
import { invalidField } from "../../../failures.ts";
import type { InputItem } from "./schema.ts";
import { isReference, type KeyRecords, type StoredItem } from "./stored-record.ts";

const id = Type.String({ maxLength: 1024 });

/** The query of a list of items; parameters that are not listed are allowed, ignored and named in the response. */
export const listQuery = Type.Object({
  order: Type.Optional(Type.Enum(["asc", "desc"])),
  after: Type.Optional(id),
  before: Type.Optional(id),
  limit: Type.Optional(Type.String({ pattern: "^(?:[1-9]\\d?|100)$", maxLength: 3 })),
});

/** The query of a single item, or of new ones: nothing in it has an effect. */
export const itemQuery = Type.Object({});

export type ListQuery = Static<typeof listQuery>;

const defaultLimit = 20;

/** One page of items, the newest first unless the query says otherwise. */
export function listItems(stored: readonly StoredItem[], query: ListQuery, records: KeyRecords) {
  const ordered = query.order === "asc" ? stored : stored.toReversed();
  const start = query.after === undefined ? 0 : positionOf(query.after, "after", ordered) + 1;
  const end = query.before === undefined ? ordered.length : positionOf(query.before, "before", ordered);
  const limit = query.limit === undefined ? defaultLimit : Number(query.limit);
  const page = ordered.slice(start, Math.min(end, start + limit));
  return {
    object: "list",
    data: page.map((item) => showItem(item, records)),
    first_id: page.at(0)?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
    has_more: start + page.length < end,
  };
}

function positionOf(wanted: string, field: string, items: readonly StoredItem[]): number {
  const position = items.findIndex((item) => item.id === wanted);
  if (position === -1)
    throw invalidField(field, `is "${wanted}", which is not the id of an item in this list`);
  return position;
}

/** An item as lists contain it. A reference to an item that is no longer stored is shown as it is. */
export function showItem(stored: StoredItem, records: KeyRecords): object {
  const { text } = stored.isReference === true ? (records.findItem(stored.id) ?? stored) : stored;
  // Written by `toStoredItem` or from an output item.
  const item = JSON.parse(text) as InputItem;
  if (item.type !== "message" || isReference(item)) return item;
  // Official clients expect a list of parts, and a status.
  const part = item.role === "assistant" ? { type: "output_text", annotations: [] } : { type: "input_text" };
  const content = typeof item.content === "string" ? [{ ...part, text: item.content }] : item.content;
  return { status: "completed", ...item, content };
}
