import type { OutputItem } from "./output-item.ts";
import type { InputItem } from "./schema.ts";

/** What a person sets to have responses kept; told to callers who would continue one. */
export const keepResponsesSetting = "--keep-responses";

export type ResponseLimits = {
  /** For each key. */
  readonly mostResponses: number;
  readonly mostBytes: number;
};

type Shelf = { readonly conversations: Map<string, string>; bytes: number };

/**
 * Conversations that callers continue by the id of their last response. Each key has its own room and sees only its
 * own; the one used longest ago leaves first. They are in memory alone and gone with the process.
 */
export class ResponseStore {
  readonly #limits: ResponseLimits;
  readonly #shelves = new Map<string, Shelf>();

  constructor(limits: ResponseLimits) {
    this.#limits = limits;
  }

  /** Every item up to and with the response's own output; undefined for an id that is not kept for this key. */
  find(keyName: string, responseId: string): readonly InputItem[] | undefined {
    const conversations = this.#shelves.get(keyName)?.conversations;
    const text = conversations?.get(responseId);
    if (conversations === undefined || text === undefined) return undefined;
    conversations.delete(responseId);
    conversations.set(responseId, text);
    // Written by `keep`; what a model put out can be put in again.
    return JSON.parse(text) as readonly InputItem[];
  }

  /** Kept as text: what is kept cannot change any more, and its size is known. */
  keep(keyName: string, responseId: string, items: readonly (InputItem | OutputItem)[]): void {
    const text = JSON.stringify(items);
    const bytes = Buffer.byteLength(text);
    if (bytes > this.#limits.mostBytes) return;
    const shelf = this.#shelves.get(keyName) ?? { conversations: new Map<string, string>(), bytes: 0 };
    this.#shelves.set(keyName, shelf);
    shelf.conversations.set(responseId, text);
    shelf.bytes += bytes;
    this.#makeRoom(shelf);
  }

  #makeRoom(shelf: Shelf): void {
    for (const [responseId, text] of shelf.conversations) {
      const isFull =
        shelf.conversations.size > this.#limits.mostResponses || shelf.bytes > this.#limits.mostBytes;
      if (!isFull) return;
      shelf.conversations.delete(responseId);
      shelf.bytes -= Buffer.byteLength(text);
    }
  }
}
