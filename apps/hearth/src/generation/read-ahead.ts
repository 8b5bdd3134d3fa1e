import { setTimeout as sleep } from "node:timers/promises";

export type ReadAheadOptions<Item> = {
  readonly sizeOf: (item: Item) => number;
  /** The source waits while the items that the consumer has not taken have more. */
  readonly maxSize: number;
  /** Called every second while the source waits; throws to end it. */
  readonly onStall: () => void;
};

const stallMilliseconds = 1000;

/**
 * Reads a source before its consumer asks, up to a size: the source ends, and frees what it holds, although the consumer
 * is slow. The consumer gets the same items, and then the same error. Leaving the loop ends the source.
 */
export async function* readAhead<Item>(
  source: AsyncIterable<Item>,
  options: ReadAheadOptions<Item>,
): AsyncGenerator<Item> {
  const buffer = new Buffered<Item>(options);
  const reading = buffer.fill(source);
  try {
    yield* buffer;
  } finally {
    buffer.leave();
    await reading;
  }
}

class Buffered<Item> {
  readonly #options: ReadAheadOptions<Item>;
  #items: Item[] = [];
  #size = 0;
  #end: { readonly error?: unknown } | undefined;
  #isLeft = false;
  #wakeConsumer = (): void => undefined;
  #wakeSource = (): void => undefined;

  constructor(options: ReadAheadOptions<Item>) {
    this.#options = options;
  }

  async fill(source: AsyncIterable<Item>): Promise<void> {
    try {
      for await (const item of source) {
        this.#items.push(item);
        this.#size += this.#options.sizeOf(item);
        this.#wakeConsumer();
        if (this.#size > this.#options.maxSize) await this.#waitForRoom();
        if (this.#isLeft) break;
      }
      this.#end = {};
    } catch (error) {
      this.#end = { error };
    }
    this.#wakeConsumer();
  }

  leave(): void {
    this.#isLeft = true;
    this.#wakeSource();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item> {
    for (;;) {
      const items = this.#items;
      this.#items = [];
      for (const item of items) {
        this.#size -= this.#options.sizeOf(item);
        this.#wakeSource();
        yield item;
      }
      if (this.#items.length > 0) continue;
      if (this.#end !== undefined) {
        if ("error" in this.#end) throw this.#end.error;
        return;
      }
      await new Promise<void>((resolve) => {
        this.#wakeConsumer = resolve;
      });
    }
  }

  async #waitForRoom(): Promise<void> {
    while (this.#size > this.#options.maxSize && !this.#isLeft) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wakeSource = resolve;
      const timeout = new AbortController();
      const stalled = sleep(stallMilliseconds, true, { signal: timeout.signal }).catch(() => false);
      const isStalled = await Promise.race([promise.then(() => false), stalled]);
      timeout.abort();
      if (isStalled) this.#options.onStall();
    }
  }
}
