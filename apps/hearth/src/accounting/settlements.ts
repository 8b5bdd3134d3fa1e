import type { KeyStore, RequestRef } from "../key-store/key-store.ts";
import type { KeyedEntry, SettledUse } from "../key-store/usage-ledger.ts";

type Settlement = { readonly request: RequestRef; readonly used: SettledUse };

/** Rows that are written together, and how long one waits for others. */
const maxBatch = 500;
const batchMilliseconds = 50;
/** While the database cannot be reached, the oldest rows of keys without limits are dropped beyond this number. */
const maxPending = 10_000;

/**
 * Settles requests in the background, and writes the rows of those that have no reservation. What a database that failed
 * did not hear would hold its reservation for ever.
 */
export class Settlements implements AsyncDisposable {
  readonly #store: Pick<KeyStore, "settle" | "record">;
  readonly #onError: (error: unknown) => void;
  readonly #failed = new Set<Settlement>();
  readonly #running = new Set<Promise<void>>();
  #pending: KeyedEntry[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(store: Pick<KeyStore, "settle" | "record">, onError: (error: unknown) => void) {
    this.#store = store;
    this.#onError = onError;
  }

  settle(settlement: Settlement): void {
    const { request, used } = settlement;
    this.#run(this.#store.settle(request, used), () => this.#failed.add(settlement));
  }

  record(keyed: KeyedEntry): void {
    this.#pending.push(keyed);
    if (this.#pending.length > maxPending) this.#pending.shift();
    this.#timer ??= setTimeout(() => this.#flush(), batchMilliseconds);
  }

  retry(): void {
    const failed = [...this.#failed];
    this.#failed.clear();
    for (const each of failed) this.settle(each);
    if (this.#timer === undefined) this.#flush();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    while (this.#timer !== undefined) this.#flush();
    await Promise.all(this.#running);
  }

  #flush(): void {
    clearTimeout(this.#timer);
    const batch = this.#pending.slice(0, maxBatch);
    this.#pending = this.#pending.slice(maxBatch);
    const hasMore = this.#pending.length > 0;
    this.#timer = hasMore ? setTimeout(() => this.#flush(), batchMilliseconds) : undefined;
    if (batch.length === 0) return;
    this.#run(this.#store.record(batch), () => {
      this.#pending = [...batch, ...this.#pending].slice(-maxPending);
    });
  }

  #run(work: Promise<void>, onFailure: () => void): void {
    const running: Promise<void> = work
      .catch((error: unknown) => {
        onFailure();
        this.#onError(error);
      })
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }
}
