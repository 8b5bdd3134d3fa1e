import type { Engine, EngineDriver, EngineFailure, LoadPlan } from "@hearth-and-keep/engine";
import type { UnloadReason } from "./events.ts";
import type { LoadUser } from "./keep-alive.ts";
import type { Lease, QueuedLoadRequest } from "./load-request.ts";
import type { MemoryBreakdown } from "./memory-budget.ts";
import type { LeaseMeter, QueuedRequest } from "./request-queue.ts";

export type InstanceEnd =
  | { readonly type: "load-failed"; readonly error: unknown }
  | { readonly type: "load-cancelled" }
  | { readonly type: "model-unloaded"; readonly reason: UnloadReason; readonly failure?: EngineFailure };

export type InstanceOptions = {
  readonly driver: EngineDriver;
  readonly plan: LoadPlan;
  readonly memoryBytes: number;
  readonly breakdown: MemoryBreakdown;
  /** Called with each whole percent of the load. */
  readonly onProgress: (percent: number) => void;
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

type GrantOptions = Pick<Lease, "engine" | "isWanted"> & {
  readonly user: LoadUser;
  readonly meter: LeaseMeter;
};

type InstanceState =
  | { readonly type: "loading" }
  | { readonly type: "serving"; readonly engine: Engine }
  | { readonly type: "unloading" };

/** The engine frees the context for embeddings a little earlier. */
const besideSeconds = 35;

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
  readonly breakdown: MemoryBreakdown;
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
  #loadedPercent = -1;
  #leases = 0;
  /** Of a context for embeddings beside that of generation. */
  #besideBytes = 0;
  #besideLeases = 0;
  #besideUsedAt = Number.NEGATIVE_INFINITY;

  constructor(options: InstanceOptions) {
    this.#options = options;
    this.plan = options.plan;
    this.breakdown = options.breakdown;
    this.unloaded = this.#ended.promise;
    void this.#load();
  }

  get state(): InstanceState {
    return this.#state;
  }

  /** As estimated for the memory budget. */
  get memoryBytes(): number {
    const isRecent = performance.now() - this.#besideUsedAt < besideSeconds * 1000;
    return this.#options.memoryBytes + (this.#besideLeases > 0 || isRecent ? this.#besideBytes : 0);
  }

  /** How much more than what is counted already is needed to embed. */
  missingBytes(besideBytes: number): number {
    return Math.max(0, this.#options.memoryBytes + besideBytes - this.memoryBytes);
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
    { engine, isWanted, user, meter }: GrantOptions,
  ): Lease {
    const grantedAt = performance.now();
    this.#leases += 1;
    this.#usedAt = grantedAt;
    user.leases += 1;
    const { besideBytes = 0 } = request;
    this.#countBeside(besideBytes, 1);
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
      addTokens: meter.add,
      measure: meter.measure,
      [Symbol.dispose]: () => {
        if (isReleased) return;
        isReleased = true;
        meter.end();
        this.#leases -= 1;
        this.#usedAt = performance.now();
        user.leases -= 1;
        user.usedAt = this.#usedAt;
        this.#countBeside(besideBytes, -1);
        this.#options.onReleased(this.#usedAt - grantedAt);
      },
    };
  }

  #countBeside(bytes: number, leases: 1 | -1): void {
    if (bytes === 0) return;
    this.#besideLeases += leases;
    this.#besideBytes = Math.max(bytes, this.memoryBytes - this.#options.memoryBytes);
    this.#besideUsedAt = performance.now();
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
      this.#reportProgress(0);
      const onProgress = (fraction: number): void => this.#reportProgress(fraction);
      const options = { signal, onProgress, onSequencesChange: onSlotsChange };
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

  #reportProgress(fraction: number): void {
    const percent = Math.floor(100 * Math.min(1, fraction));
    if (percent <= this.#loadedPercent) return;
    this.#loadedPercent = percent;
    this.#options.onProgress(percent);
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
