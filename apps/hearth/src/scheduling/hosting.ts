import type { Engine, EngineDriver, EngineFailure, LoadPlan } from "@hearth-and-keep/engine";
import type { UnloadReason } from "./events.ts";
import type { Lease, ModelWish } from "./load-request.ts";
import type { Waiter } from "./request-queue.ts";

export type HostingEnd =
  | { readonly type: "load-failed"; readonly problem: unknown }
  | { readonly type: "load-called-off" }
  | { readonly type: "model-unloaded"; readonly reason: UnloadReason; readonly failure?: EngineFailure };

export type HostingParts = {
  readonly driver: EngineDriver;
  readonly plan: LoadPlan;
  readonly memoryBytes: number;
  readonly onLoaded: (hosting: Hosting) => void;
  readonly onReturned: (leaseMilliseconds: number) => void;
  /** More or fewer can be served at once. */
  readonly onPlaces: () => void;
  readonly onGone: (end: HostingEnd) => void;
};

/** Who came after this ticket gets no lease here any more. */
export type Closing = {
  readonly afterTicket: number;
  readonly reason: UnloadReason;
  /** The waiting request that needs the memory; when it is gone, so is the closing. */
  readonly forTicket?: number;
};

type Stage =
  | { readonly type: "loading" }
  | { readonly type: "serving"; readonly engine: Engine }
  | { readonly type: "leaving" };

/**
 * One load of a model, from its start until its memory is free again:
 *
 *   loading --loaded--> serving --leave--> leaving --unloaded--> gone
 *   loading --leave--> leaving --load settled, engine unloaded if there is one--> gone
 *   loading --failed--> gone
 *   serving --engine ended by itself--> gone
 */
export class Hosting {
  readonly plan: LoadPlan;
  readonly memoryBytes: number;
  readonly startedAt = performance.now();
  /** Settles when the memory is free again. */
  readonly gone: Promise<void>;
  closing: Closing | undefined;
  readonly #parts: HostingParts;
  readonly #ending = Promise.withResolvers<void>();
  readonly #callOff = new AbortController();
  #stage: Stage = { type: "loading" };
  #readyAt = Number.POSITIVE_INFINITY;
  #usedAt = this.startedAt;
  #leases = 0;

  constructor(parts: HostingParts) {
    this.#parts = parts;
    this.plan = parts.plan;
    this.memoryBytes = parts.memoryBytes;
    this.gone = this.#ending.promise;
    void this.#load();
  }

  get stage(): Stage {
    return this.#stage;
  }

  get leases(): number {
    return this.#leases;
  }

  /** When the last lease began or ended. */
  get usedAt(): number {
    return this.#usedAt;
  }

  get loadMilliseconds(): number {
    return this.#readyAt - this.startedAt;
  }

  isOpenTo(ticket: number): boolean {
    return this.closing === undefined || ticket <= this.closing.afterTicket;
  }

  /** How many can be served at once, as far as is known while it loads. Engines elsewhere come and go. */
  get places(): number {
    const stage = this.#stage;
    const isElsewhere = this.plan.remote !== undefined && stage.type === "serving";
    return isElsewhere ? stage.engine.describe().sequences : this.plan.sequences;
  }

  /** How many more can be served. */
  get freePlaces(): number {
    return this.#stage.type === "leaving" ? 0 : Math.max(0, this.places - this.#leases);
  }

  lend({ enteredAt, position }: Waiter<ModelWish, Lease>, engine: Engine): Lease {
    const lentAt = performance.now();
    this.#leases += 1;
    this.#usedAt = lentAt;
    const loadMilliseconds = Math.max(0, this.#readyAt - Math.max(enteredAt, this.startedAt));
    let isReturned = false;
    return {
      engine,
      // An engine elsewhere has the context it has.
      contextTokens: Math.min(this.plan.contextTokens, engine.describe().contextTokens),
      loadMilliseconds,
      queueMilliseconds: Math.max(0, lentAt - enteredAt - loadMilliseconds),
      position,
      [Symbol.dispose]: () => {
        if (isReturned) return;
        isReturned = true;
        this.#leases -= 1;
        this.#usedAt = performance.now();
        this.#parts.onReturned(this.#usedAt - lentAt);
      },
    };
  }

  /** Gives the memory back, whoever still holds a lease; a load under way is called off. */
  leave(reason: UnloadReason): void {
    const stage = this.#stage;
    if (stage.type === "leaving") return;
    this.#stage = { type: "leaving" };
    this.#callOff.abort();
    if (stage.type === "serving") void this.#unload(stage.engine, { type: "model-unloaded", reason });
  }

  async #load(): Promise<void> {
    let engine: Engine;
    try {
      const { onPlaces } = this.#parts;
      const parts = { signal: this.#callOff.signal, onProgress: () => undefined, onSequences: onPlaces };
      engine = await Promise.try(() => this.#parts.driver.load(this.plan, parts));
    } catch (problem) {
      const isCalledOff = this.#stage.type === "leaving";
      return this.#end(isCalledOff ? { type: "load-called-off" } : { type: "load-failed", problem });
    }
    if (this.#stage.type === "leaving") return this.#unload(engine, { type: "load-called-off" });
    this.#readyAt = performance.now();
    this.#usedAt = this.#readyAt;
    this.#stage = { type: "serving", engine };
    void engine.ended.then((failure) => this.#forget(failure));
    this.#parts.onLoaded(this);
  }

  async #unload(engine: Engine, end: HostingEnd): Promise<void> {
    // An engine that cannot say goodbye is gone all the same: its driver ends it by force.
    await engine.unload().catch(() => undefined);
    this.#end(end);
  }

  #forget(failure: EngineFailure | undefined): void {
    if (this.#stage.type !== "serving") return;
    this.#stage = { type: "leaving" };
    this.#end({ type: "model-unloaded", reason: "died", ...(failure && { failure }) });
  }

  #end(end: HostingEnd): void {
    this.#parts.onGone(end);
    this.#ending.resolve();
  }
}
