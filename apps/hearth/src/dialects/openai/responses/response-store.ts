import type { OutputItem } from "./output-item.ts";
import type { InputItem } from "./schema.ts";

/** The flag that enables storing responses, named in errors. */
export const storedResponsesFlag = "--max-stored-responses";

export type ResponseLimits = {
  /** Per API key. */
  readonly maxResponses: number;
  readonly maxBytes: number;
};

type Partition = { readonly conversations: Map<string, string>; bytes: number };

/**
 * Conversations that clients continue with `previous_response_id`. Each API key has its own partition and sees only its
 * own responses; the least recently used is evicted first. Everything is in memory and lost when the process exits.
 */
export class ResponseStore {
  readonly #limits: ResponseLimits;
  readonly #partitions = new Map<string, Partition>();

  constructor(limits: ResponseLimits) {
    this.#limits = limits;
  }

  /** All items up to and including the response's output; undefined if this key has no such response. */
  find(keyName: string, responseId: string): readonly InputItem[] | undefined {
    const conversations = this.#partitions.get(keyName)?.conversations;
    const text = conversations?.get(responseId);
    if (conversations === undefined || text === undefined) return undefined;
    conversations.delete(responseId);
    conversations.set(responseId, text);
    // Written by `save`. Output items are valid input items.
    return JSON.parse(text) as readonly InputItem[];
  }

  /** Stored as JSON text, so that it is immutable and its size is known. */
  save(keyName: string, responseId: string, items: readonly (InputItem | OutputItem)[]): void {
    const text = JSON.stringify(items);
    const bytes = Buffer.byteLength(text);
    if (bytes > this.#limits.maxBytes) return;
    const partition = this.#partitions.get(keyName) ?? { conversations: new Map<string, string>(), bytes: 0 };
    this.#partitions.set(keyName, partition);
    partition.conversations.set(responseId, text);
    partition.bytes += bytes;
    this.#evict(partition);
  }

  #evict(partition: Partition): void {
    for (const [responseId, text] of partition.conversations) {
      const isFull =
        partition.conversations.size > this.#limits.maxResponses || partition.bytes > this.#limits.maxBytes;
      if (!isFull) return;
      partition.conversations.delete(responseId);
      partition.bytes -= Buffer.byteLength(text);
    }
  }
}
