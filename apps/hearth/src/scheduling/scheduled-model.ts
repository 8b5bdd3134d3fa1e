import type { EngineDriver, LoadPlan } from "@hearth-and-keep/engine";
import type { SchedulingEvent } from "./events.ts";
import { computeExpiry, ExpiryTimer, isForever, type KeepAlive } from "./keep-alive.ts";
import { type Lease, type LoadRequest, minContextTokens } from "./load-request.ts";
import type { LoadShape, Resident } from "./memory-budget.ts";
import { type InstanceEnd, ModelInstance } from "./model-instance.ts";
import { type QueuedRequest, RequestQueue } from "./request-queue.ts";

/** How long requests that fit into the loaded context may overtake one that needs a larger one. */
const maxOvertakenSeconds = 30;

export type LoadSettings = Pick<
  LoadPlan,
  "gpuLayers" | "cacheType" | "flashAttention" | "memoryMap" | "threads"
>;

export type ScheduledModelOptions = {
  readonly driver: EngineDriver;
  readonly loadSettings: LoadSettings;
  readonly keepAlive: KeepAlive;
  readonly onEvent: (event: SchedulingEvent) => void;
  /** Called when a lease or memory may have become available. */
  readonly onChange: () => void;
};

/** One model for one purpose: its queue, and its instance while it is loaded. There is at most one instance. */
export class ScheduledModel {
  readonly key: string;
  readonly purpose: LoadPlan["purpose"];
  readonly queue = new RequestQueue<LoadRequest, Lease>();
  readonly #options: ScheduledModelOptions;
  readonly #timer = new ExpiryTimer();
  #instance: ModelInstance | undefined;
  #keepAlive: KeepAlive;
  #meanLeaseMilliseconds = 0;

  constructor({ key, purpose }: LoadRequest, options: ScheduledModelOptions) {
    this.key = key;
    this.purpose = purpose;
    this.#options = options;
    this.#keepAlive = options.keepAlive;
  }

  get instance(): ModelInstance | undefined {
    return this.#instance;
  }

  get meanLeaseMilliseconds(): number {
    return this.#meanLeaseMilliseconds;
  }

  /** How many queued requests exceed the slots that are free or being loaded. */
  get queuedBeyondSlots(): number {
    const instance = this.#instance;
    const slots = instance === undefined || instance.drain !== undefined ? 0 : instance.freeSlots;
    return Math.max(0, this.queue.length - slots);
  }

  /** On the monotonic clock; while the model is in use, as if its last lease were released now. */
  get expiresAt(): number {
    const instance = this.#instance;
    const isIdle = instance !== undefined && instance.leases === 0 && this.queue.length === 0;
    return computeExpiry(this.#keepAlive, isIdle ? instance.usedAt : performance.now());
  }

  /** For the memory budget; undefined if it uses no memory. */
  get resident(): Resident | undefined {
    if (this.#instance === undefined) return undefined;
    const { memoryBytes, usedAt, state, leases } = this.#instance;
    const isIdle = state.type === "serving" && leases === 0 && this.queue.length === 0;
    const residentState = state.type === "unloading" ? "unloading" : isIdle ? "idle" : "busy";
    return { memoryBytes, usedAt, state: residentState, isPinned: isForever(this.#keepAlive) };
  }

  canServe(request: LoadRequest): boolean {
    return this.#instance !== undefined && minContextTokens(request) <= this.#instance.plan.contextTokens;
  }

  load(request: LoadRequest, shape: LoadShape, memoryBytes: number): void {
    const { modelPath, remote, adapters, projectorPath, goTemplate } = request;
    const { driver, loadSettings, onChange } = this.#options;
    const files = {
      modelPath,
      ...(remote && { remote }),
      ...(adapters && { adapters }),
      ...(projectorPath && { projectorPath }),
      ...(goTemplate && { goTemplate }),
    };
    this.#instance = new ModelInstance({
      driver,
      plan: { ...loadSettings, ...files, ...shape, purpose: this.purpose },
      memoryBytes,
      onLoaded: (instance) => this.#reportLoaded(instance),
      onSlotsChange: onChange,
      onReleased: (leaseMilliseconds) => {
        const mean = this.#meanLeaseMilliseconds;
        this.#meanLeaseMilliseconds = mean === 0 ? leaseMilliseconds : 0.8 * mean + 0.2 * leaseMilliseconds;
        onChange();
      },
      onEnd: (end) => this.#handleEnd(end),
    });
  }

  /** Grants all leases that can be granted, and unloads the model when it has expired or must make room. */
  serve(): void {
    const instance = this.#instance;
    if (instance === undefined) return;
    if (instance.state.type === "loading" && this.queue.length === 0) instance.unload("expired");
    if (instance.state.type !== "serving") return;
    const { engine } = instance.state;
    const isWanted = (): boolean => this.queue.length > 0;
    for (let next = this.#findNext(); next !== undefined && instance.freeSlots > 0; next = this.#findNext()) {
      this.#keepAlive = next.request.keepAlive ?? this.#keepAlive;
      next.resolve(instance.grantLease(next, { engine, isWanted }));
    }
    this.#timer.stop();
    if (instance.leases > 0) return;
    if (instance.drain !== undefined) instance.unload(instance.drain.reason);
    else if (this.queue.length > 0) instance.unload("outgrown");
    else if (this.expiresAt <= performance.now()) instance.unload("expired");
    else this.#timer.start(this.expiresAt, this.#options.onChange);
  }

  /**
   * The next request to be served. One that needs a larger context waits until the model is idle; others overtake it
   * while there are running requests to wait for, but not for ever.
   */
  #findNext(): QueuedRequest<LoadRequest, Lease> | undefined {
    const { head } = this.queue;
    const instance = this.#instance;
    if (head === undefined || instance === undefined) return undefined;
    if (this.canServe(head.request)) return instance.accepts(head.ticket) ? head : undefined;
    const isOverdue = performance.now() - head.enqueuedAt > maxOvertakenSeconds * 1000;
    if (isOverdue || instance.leases === 0) return undefined;
    return this.queue.find(({ ticket, request }) => instance.accepts(ticket) && this.canServe(request));
  }

  #reportLoaded({ plan, memoryBytes, loadMilliseconds, state }: ModelInstance): void {
    const { contextTokens, sequences } = plan;
    const protection = state.type === "serving" ? state.engine.describe().protection : undefined;
    this.#options.onEvent({
      type: "model-loaded",
      key: this.key,
      purpose: this.purpose,
      contextTokens,
      sequences,
      memoryBytes,
      loadMilliseconds,
      ...(protection === undefined ? {} : { protection }),
    });
    this.#options.onChange();
  }

  /** A failed load rejects all queued requests; after any other end they wait for the next load. */
  #handleEnd(end: InstanceEnd): void {
    this.#timer.stop();
    this.#instance = undefined;
    this.#options.onEvent({ key: this.key, purpose: this.purpose, ...end });
    if (end.type === "load-failed") this.queue.rejectAll(end.error);
    this.#options.onChange();
  }
}
