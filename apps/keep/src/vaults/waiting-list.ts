/** Items in the order of their arrival. */
export class WaitingList<Item> {
  readonly #items: Item[] = [];
  #awaited: { readonly count: number; readonly resolve: () => void } | undefined;

  get length(): number {
    return this.#items.length;
  }

  add(item: Item): void {
    this.#items.push(item);
    if (this.#awaited !== undefined && this.#items.length >= this.#awaited.count) this.#awaited.resolve();
  }

  take(max: number): Item[] {
    return this.#items.splice(0, max);
  }

  /** Waits for this many items, but no longer than this. */
  async waitUntilHolds(count: number, milliseconds: number): Promise<void> {
    if (this.#items.length >= count) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, milliseconds);
    this.#awaited = { count, resolve };
    await promise;
    clearTimeout(timer);
    this.#awaited = undefined;
  }
}
