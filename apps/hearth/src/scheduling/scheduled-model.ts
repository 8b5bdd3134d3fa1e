import type { EngineDriver, LoadPlan } from "@hearth-and-keep/engine";
import type { SchedulingEvent } from "./events.ts";
import { computeExpiry, ExpiryTimer, isForever, type KeepAlive } from "./keep-alive.ts";
import type { Lease, LoadRequest, QueuedLoadRequest, RequestShape } from "./load-request.ts";
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

/**
 * One model for one purpose: its queue, and its instance while it is loaded. A larger context is loaded beside the
 * instance if memory allows; it then replaces the instance, which ends with its last lease.
 */
export class ScheduledModel {
  readonly key: string;
  readonly purpose: LoadPlan["purpose"];
  readonly queue = new RequestQueue<QueuedLoadRequest, Lease>();
  /** By the limit that requests set; 0 without one. */
  readonly shapes = new Map<number, RequestShape>();
  readonly #options: ScheduledModelOptions;
  readonly #timer = new ExpiryTimer();
  #instance: ModelInstance | undefined;
  /** Has a larger context, and is loading. */
  #replacement: ModelInstance | undefined;
  /** Was replaced, and finishes its requests. */
  #replaced: ModelInstance | undefined;
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

  /** All that use memory. */
  get instances(): readonly ModelInstance[] {
    return [this.#instance, this.#replacement, this.#replaced].filter((each) => each !== undefined);
  }

  /** The queued requests that need a larger context, if the instance cannot be loaded again for them at once. */
  get outgrowingRequests(): readonly QueuedLoadRequest[] {
    const isReplaceable = this.#instance?.state.type === "serving" && this.#instance.drain === undefined;
    if (!isReplaceable || this.#replacement !== undefined || this.#replaced !== undefined) return [];
    return this.queue.requests.filter((request) => !this.canServe(request));
  }

  get meanLeaseMilliseconds(): number {
    return this.#meanLeaseMilliseconds;
  }

  /** How many queued requests of clients exceed the slots that are free or being loaded. */
  get queuedBeyondSlots(): number {
    const instance = this.#instance;
    const slots = instance === undefined || instance.drain !== undefined ? 0 : instance.freeSlots;
    return Math.max(0, this.queue.clientLength - slots);
  }

  /** On the monotonic clock; while the model is in use, as if its last lease were released now. */
  get expiresAt(): number {
    const instance = this.#instance;
    const isIdle = instance !== undefined && instance.leases === 0 && this.queue.length === 0;
    return computeExpiry(this.#keepAlive, isIdle ? instance.usedAt : performance.now());
  }

  /** For the memory budget. */
  get residents(): readonly (Resident & { readonly instance: ModelInstance })[] {
    return this.instances.map((instance) => {
      const { memoryBytes, usedAt, state, leases } = instance;
      const isIdle = state.type === "serving" && leases === 0 && this.queue.length === 0;
      const residentState = state.type === "unloading" ? "unloading" : isIdle ? "idle" : "busy";
      return { instance, memoryBytes, usedAt, state: residentState, isPinned: isForever(this.#keepAlive) };
    });
  }

  canServe({ minContextTokens }: QueuedLoadRequest): boolean {
    return this.#instance !== undefined && minContextTokens <= this.#instance.plan.contextTokens;
  }

  /** Loads the model, or its replacement if it is loaded already. */
  load(request: QueuedLoadRequest, shape: LoadShape, memoryBytes: number): void {
    const instance = this.#createInstance(request, shape, memoryBytes);
    if (this.#instance === undefined) this.#instance = instance;
    else this.#replacement = instance;
  }

  #createInstance(request: QueuedLoadRequest, shape: LoadShape, memoryBytes: number): ModelInstance {
    const { modelPath, remote, adapters, projectorPath, goTemplate } = request;
    const { driver, loadSettings, onChange } = this.#options;
    const files = {
      modelPath,
      ...(remote && { remote }),
      ...(adapters && { adapters }),
      ...(projectorPath && { projectorPath }),
      ...(goTemplate && { goTemplate }),
    };
    const instance = new ModelInstance({
      driver,
      plan: { ...loadSettings, ...files, ...shape, ...cacheOf(request), purpose: this.purpose },
      memoryBytes,
      onLoaded: () => this.#handleLoaded(instance),
      onSlotsChange: onChange,
      onReleased: (leaseMilliseconds) => {
        const mean = this.#meanLeaseMilliseconds;
        this.#meanLeaseMilliseconds = mean === 0 ? leaseMilliseconds : 0.8 * mean + 0.2 * leaseMilliseconds;
        onChange();
      },
      onEnd: (end) => this.#handleEnd(instance, end),
    });
    return instance;
  }

  /** Grants all leases that can be granted, and unloads the model when it has expired or must make room. */
  serve(): void {
    if (this.#replaced?.leases === 0) this.#replaced.unload("outgrown");
    const isOutgrown = this.queue.find(({ request }) => !this.canServe(request)) !== undefined;
    if (!isOutgrown) this.#replacement?.unload("expired");
    const instance = this.#instance;
    if (instance === undefined) return;
    if (instance.state.type === "loading" && this.queue.length === 0) instance.unload("expired");
    if (instance.state.type !== "serving") return;
    const { engine } = instance.state;
    // Nobody waits for a slot while the replacement loads; after that, the memory of this instance is wanted.
    const isWanted = (): boolean =>
      instance !== this.#instance || (this.#replacement === undefined && this.queue.clientLength > 0);
    for (
      let next = this.#findNext();
      next !== undefined && hasSlotFor(next, instance);
      next = this.#findNext()
    ) {
      this.#keepAlive = next.request.keepAlive ?? this.#keepAlive;
      next.resolve(instance.grantLease(next, { engine, isWanted }));
    }
    this.#timer.stop();
    if (instance.leases > 0) return;
    if (instance.drain !== undefined) instance.unload(instance.drain.reason);
    else if (this.#replacement !== undefined) return;
    else if (this.queue.length > 0) instance.unload("outgrown");
    else if (this.expiresAt <= performance.now()) instance.unload("expired");
    else this.#timer.start(this.expiresAt, this.#options.onChange);
  }

  /**
   * The next request to be served. One that needs a larger context waits for the replacement, or until the model is
   * idle. Others overtake it until then; without a replacement, only while there are running requests to wait for, and
   * not for ever.
   */
  #findNext(): QueuedRequest<QueuedLoadRequest, Lease> | undefined {
    const { head } = this.queue;
    const instance = this.#instance;
    if (head === undefined || instance === undefined) return undefined;
    if (this.canServe(head.request)) return instance.accepts(head) ? head : undefined;
    const isOverdue = performance.now() - head.enqueuedAt > maxOvertakenSeconds * 1000;
    if (this.#replacement === undefined && (isOverdue || instance.leases === 0)) return undefined;
    return this.queue.find(
      (queued) =>
        instance.accepts(queued) &&
        this.canServe(queued.request) &&
        (head.isBackground || !queued.isBackground),
    );
  }

  #handleLoaded(instance: ModelInstance): void {
    if (instance === this.#replacement) {
      this.#replaced = this.#instance;
      this.#instance = instance;
      this.#replacement = undefined;
    }
    this.#reportLoaded(instance);
    this.#options.onChange();
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
  }

  /** A failed load rejects all queued requests that waited for it; after any other end they wait for the next load. */
  #handleEnd(ended: ModelInstance, end: InstanceEnd): void {
    if (ended === this.#replaced) this.#replaced = undefined;
    if (ended === this.#replacement) this.#replacement = undefined;
    if (ended === this.#instance) {
      this.#timer.stop();
      this.#instance = this.#replacement;
      this.#replacement = undefined;
    }
    this.#options.onEvent({ key: this.key, purpose: this.purpose, ...end });
    if (end.type === "load-failed") {
      this.queue.rejectAll(end.error, (request) => !this.canServe(request));
    }
    this.#options.onChange();
  }
}

/** Background requests leave the last free slot to others, unless the model has only one. */
function hasSlotFor(
  { isBackground }: Pick<QueuedRequest<unknown, unknown>, "isBackground">,
  instance: ModelInstance,
): boolean {
  const { freeSlots, leases } = instance;
  return freeSlots > (isBackground && leases > 0 ? 1 : 0);
}

/** llama.cpp computes with quantized values in flash attention only. */
function cacheOf({ cacheType }: QueuedLoadRequest): Pick<LoadPlan, "cacheType" | "flashAttention"> {
  if (cacheType === undefined) return {};
  return cacheType === "f16" ? { cacheType } : { cacheType, flashAttention: true };
}
