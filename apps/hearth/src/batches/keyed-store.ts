import { requestFailure } from "../failures.ts";

/** The flag that sets how many batches are stored, named in errors. */
const maxBatchesFlag = "--max-batches";

/** What a store keeps for an API key. */
export type Stored = {
  readonly id: string;
  /** In milliseconds since 1970; infinite while it is in use. */
  readonly deletedAt: number;
  /** Frees its memory. */
  release(): void;
};

export type KeyedStoreOptions = {
  /** Per API key. */
  readonly maxItems: number;
  /** What the items are, for errors. */
  readonly plural: string;
  /** In milliseconds since 1970. */
  readonly now?: () => number;
};

/** Items in memory, each belonging to the API key that created it: there is no way to reach those of another. */
export class KeyedStore<Item extends Stored> {
  readonly #options: Required<KeyedStoreOptions>;
  readonly #itemsOf = new Map<string, Map<string, Item>>();

  constructor(options: KeyedStoreOptions) {
    this.#options = { now: () => Date.now(), ...options };
  }

  /** Throws a RequestFailure if the key has too many items for another one. */
  checkRoom(keyName: string): void {
    this.deleteExpired();
    const { maxItems, plural } = this.#options;
    if ((this.#itemsOf.get(keyName)?.size ?? 0) < maxItems) return;
    const reason =
      maxItems === 0
        ? `this server stores no ${plural}; set ${maxBatchesFlag}`
        : `this API key has ${maxItems} ${plural}, the most that it may have; delete some, or wait until they end`;
    throw requestFailure({ kind: "batch-storage-full", reason });
  }

  /** The same, after deleting the oldest items that are not in use: for items that clients cannot delete. */
  makeRoom(keyName: string): void {
    const { maxItems } = this.#options;
    const items = this.#itemsOf.get(keyName)?.values() ?? [];
    const unused = [...items].filter(({ deletedAt }) => Number.isFinite(deletedAt));
    const surplus = (this.#itemsOf.get(keyName)?.size ?? 0) + 1 - maxItems;
    for (const { id } of unused.slice(0, Math.max(0, surplus))) this.delete(keyName, id);
    this.checkRoom(keyName);
  }

  add(keyName: string, item: Item): void {
    const items = this.#itemsOf.get(keyName) ?? new Map<string, Item>();
    this.#itemsOf.set(keyName, items);
    items.set(item.id, item);
  }

  find(keyName: string, id: string): Item | undefined {
    this.deleteExpired();
    return this.#itemsOf.get(keyName)?.get(id);
  }

  /** The newest first. */
  list(keyName: string): readonly Item[] {
    this.deleteExpired();
    return [...(this.#itemsOf.get(keyName)?.values() ?? [])].toReversed();
  }

  delete(keyName: string, id: string): void {
    const items = this.#itemsOf.get(keyName);
    items?.get(id)?.release();
    items?.delete(id);
    if (items?.size === 0) this.#itemsOf.delete(keyName);
  }

  deleteExpired(): void {
    const now = this.#options.now();
    for (const [keyName, items] of this.#itemsOf) {
      for (const { id, deletedAt } of items.values()) if (deletedAt <= now) this.delete(keyName, id);
    }
  }
}
