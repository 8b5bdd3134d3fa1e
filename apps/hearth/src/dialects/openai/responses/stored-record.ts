import { requestFailure } from "../../../failures.ts";
import { createId } from "./output-item.ts";
import type { InputItem } from "./schema.ts";

/** An item as JSON text, so that it is immutable and its size is known. */
export type StoredItem = {
  readonly id: string;
  readonly text: string;
  /** It only names an item of another record. */
  readonly isReference?: true;
};

/** A response with its own input and output, or a conversation, whose items are all input. */
export type StoredRecord = {
  readonly id: string;
  /** JSON of everything but the items. */
  readonly head: string;
  /** The response that this one continues; its items come first. */
  readonly parentId?: string;
  readonly input: readonly StoredItem[];
  readonly output: readonly StoredItem[];
};

/** The stored records of one API key. */
export type KeyRecords = {
  readonly find: (id: string) => StoredRecord | undefined;
  /** An item of any record. */
  readonly findItem: (id: string) => StoredItem | undefined;
  /** Replaces a record with the same id. False, without a change, if the record is too large. */
  readonly save: (record: StoredRecord) => boolean;
  readonly delete: (id: string) => boolean;
  /**
   * Resolves when the changes so far survive a crash, which is at once if they are in memory only. A change is not
   * acknowledged to the client before that.
   */
  readonly flush: () => Promise<void>;
};

/** Clients refer to input items by id too, so those that have none get one. */
export function toStoredItem(item: InputItem): StoredItem {
  if (isReference(item)) return { id: item.id, text: JSON.stringify(item), isReference: true };
  const type = item.type ?? "message";
  const id = (item.id ?? "") || createId(type === "message" ? "msg" : "item");
  return { id, text: JSON.stringify({ ...item, id, type }) };
}

/** The type may be missing: an id without a role and content is a reference. */
export function isReference(item: InputItem): item is InputItem & { readonly id: string } {
  if (typeof item.id !== "string") return false;
  const { type, role, content } = item;
  return type === "item_reference" || [type, role, content].every((value) => (value ?? null) === null);
}

/** The text of all items of one request. Without it, a few bytes of references could expand to gigabytes. */
const maxCharacters = 64 * 1024 * 1024;

/** Reads stored items and resolves references, within one limit for the whole request. */
export class ItemReader {
  readonly #records: KeyRecords | undefined;
  #characters = 0;

  constructor(records: KeyRecords | undefined) {
    this.#records = records;
  }

  read(item: StoredItem): InputItem {
    this.#characters += item.text.length;
    if (this.#characters > maxCharacters) {
      throw requestFailure({
        kind: "request-invalid",
        field: "input",
        reason: `exceeds ${maxCharacters / 1024 / 1024} million characters together with the stored items it refers to`,
      });
    }
    // Written by `toStoredItem`. Output items are valid input items.
    const parsed = JSON.parse(item.text) as InputItem;
    return item.isReference === true ? this.resolve(parsed) : parsed;
  }

  /** The item that a reference names; any other item is returned as it is. */
  resolve(item: InputItem): InputItem {
    if (!isReference(item)) return item;
    const found = this.#records?.findItem(item.id);
    if (found !== undefined) return this.read(found);
    throw requestFailure({
      kind: "stored-object-not-found",
      object: "item",
      field: "input",
      reason: `with id "${item.id}" not found; responses with "store": false and evicted ones have no stored items, so send the item itself`,
    });
  }
}
