import type { Engine, EngineDriver, EngineFailure, LoadPlan } from "@hearth-and-keep/engine";
import type { UnloadReason } from "./events.ts";
import type { Lease, QueuedLoadRequest } from "./load-request.ts";
import type { QueuedRequest } from "./request-queue.ts";

export type InstanceEnd =
  | { readonly type: "load-failed"; readonly error: unknown }
  | { readonly type: "load-cancelled" }
  | { readonly type: "model-unloaded"; readonly reason: UnloadReason; readonly failure?: EngineFailure };

export type InstanceOptions = {
  readonly driver: EngineDriver;
  readonly plan: LoadPlan;
  readonly memoryBytes: number;
  readonly onLoaded: (instance: ModelInstance) => void;
  readonly onReleased: (leaseMilliseconds: number) => void;
  /** The number of slots has changed. */
  readonly onSlotsChange: () => void;
  readonly onEnd: (end: InstanceEnd) => void;
};

/** A draining instance grants no leases to requests after this ticket, nor to background requests. */
export type Drain = {
  readonly afterTicket: number;
  readonly reason: UnloadReason;
  /** The queued request that needs the memory; if it leaves the queue, the drain is cancelled. */
  readonly forTicket?: number;
};

type InstanceState =
  | { readonly type: "loading" }
  | { readonly type: "serving"; readonly engine: Engine }
  | { readonly type: "unloading" };

/**
 * One load of a model, from its start until its memory is free again:
 *
 *   loading --loaded--> serving --unload--> unloading --engine unloaded--> end
 *   loading --unload--> unloading --load settled, engine unloaded if there is one--> end
 *   loading --failed--> end
 *   serving --engine crashed--> end
 */
export class ModelInstance {
  readonly plan: LoadPlan;
  readonly memoryBytes: number;
  readonly startedAt = performance.now();
  /** Resolves when the memory is free again. */
  readonly unloaded: Promise<void>;
  drain: Drain | undefined;
  readonly #options: InstanceOptions;
  readonly #ended = Promise.withResolvers<void>();
  readonly #cancelLoad = new AbortController();
  #state: InstanceState = { type: "loading" };
  #readyAt = Number.POSITIVE_INFINITY;
  #usedAt = this.startedAt;
  #leases = 0;

  constructor(options: InstanceOptions) {
    this.#options = options;
    this.plan = options.plan;
    this.memoryBytes = options.memoryBytes;
    this.unloaded = this.#ended.promise;
    void this.#load();
  }

  get state(): InstanceState {
    return this.#state;
  }

  get leases(): number {
    return this.#leases;
  }

  /** When a lease was last acquired or released. */
  get usedAt(): number {
    return this.#usedAt;
  }

  get loadMilliseconds(): number {
    return this.#readyAt - this.startedAt;
  }

  accepts({
    ticket,
    isBackground,
  }: Pick<QueuedRequest<unknown, unknown>, "ticket" | "isBackground">): boolean {
    return this.drain === undefined || (!isBackground && ticket <= this.drain.afterTicket);
  }

  /** How many requests can run concurrently. Remote engines report it themselves, because it changes. */
  get slots(): number {
    const state = this.#state;
    const isRemote = this.plan.remote !== undefined && state.type === "serving";
    return isRemote ? state.engine.describe().sequences : this.plan.sequences;
  }

  get freeSlots(): number {
    return this.#state.type === "unloading" ? 0 : Math.max(0, this.slots - this.#leases);
  }

  grantLease(
    { enqueuedAt, position, request }: QueuedRequest<QueuedLoadRequest, Lease>,
    { engine, isWanted }: Pick<Lease, "engine" | "isWanted">,
  ): Lease {
    const grantedAt = performance.now();
    this.#leases += 1;
    this.#usedAt = grantedAt;
    const loadMilliseconds = Math.max(0, this.#readyAt - Math.max(enqueuedAt, this.startedAt));
    const { window } = request;
    // A remote engine may have less context than planned, and will not have more.
    const engineTokens = engine.describe().contextTokens;
    const hasLess = engineTokens < this.plan.contextTokens;
    const contextTokens = hasLess ? engineTokens : this.plan.contextTokens;
    let isReleased = false;
    return {
      engine,
      contextTokens,
      window:
        hasLess && contextTokens < window.tokens ? { tokens: contextTokens, limitedBy: "engine" } : window,
      loadMilliseconds,
      queueMilliseconds: Math.max(0, grantedAt - enqueuedAt - loadMilliseconds),
      position,
      isWanted,
      [Symbol.dispose]: () => {
        if (isReleased) return;
        isReleased = true;
        this.#leases -= 1;
        this.#usedAt = performance.now();
        this.#options.onReleased(this.#usedAt - grantedAt);
      },
    };
  }

  /** Frees the memory, even if leases are active; a load in progress is cancelled. */
  unload(reason: UnloadReason): void {
    const state = this.#state;
    if (state.type === "unloading") return;
    this.#state = { type: "unloading" };
    this.#cancelLoad.abort();
    if (state.type === "serving") void this.#unload(state.engine, { type: "model-unloaded", reason });
  }

  async #load(): Promise<void> {
    let engine: Engine;
    try {
      const { driver, onSlotsChange } = this.#options;
      const { signal } = this.#cancelLoad;
      const options = { signal, onProgress: () => undefined, onSequencesChange: onSlotsChange };
      engine = await Promise.try(() => driver.load(this.plan, options));
    } catch (error) {
      const isCancelled = this.#state.type === "unloading";
      return this.#end(isCancelled ? { type: "load-cancelled" } : { type: "load-failed", error });
    }
    if (this.#state.type === "unloading") return this.#unload(engine, { type: "load-cancelled" });
    this.#readyAt = performance.now();
    this.#usedAt = this.#readyAt;
    this.#state = { type: "serving", engine };
    void engine.closed.then((failure) => this.#handleCrash(failure));
    this.#options.onLoaded(this);
  }

  async #unload(engine: Engine, end: InstanceEnd): Promise<void> {
    // Even if unloading fails, the engine is gone: its driver kills it.
    await engine.unload().catch(() => undefined);
    this.#end(end);
  }

  #handleCrash(failure: EngineFailure | undefined): void {
    if (this.#state.type !== "serving") return;
    this.#state = { type: "unloading" };
    this.#end({ type: "model-unloaded", reason: "crashed", ...(failure && { failure }) });
  }

  #end(end: InstanceEnd): void {
    this.#options.onEnd(end);
    this.#ended.resolve();
  }
}
