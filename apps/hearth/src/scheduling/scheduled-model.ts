import type { EngineDriver, LoadPlan } from "@hearth-and-keep/engine";
import type { SchedulingEvent } from "./events.ts";
import { ExpiryTimer, type KeepAlive, LoadUsers } from "./keep-alive.ts";
import type { Lease, LoadRequest, QueuedLoadRequest, QueuePosition, RequestShape } from "./load-request.ts";
import { estimateMemory, type LoadShape, type Resident } from "./memory-budget.ts";
import { type InstanceEnd, ModelInstance } from "./model-instance.ts";
import { estimateWaitSeconds, type QueuedRequest, RequestQueue } from "./request-queue.ts";

/** How long requests that fit into the loaded context may overtake one that needs a larger one. */
const maxOvertakenSeconds = 30;

export type LoadSettings = Pick<
  LoadPlan,
  "gpuLayers" | "batchTokens" | "cacheType" | "flashAttention" | "memoryMap" | "threads" | "speculation"
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
 * One load for one purpose: its queue, the models that use it, and its instance. A larger context is loaded beside the
 * instance if memory allows; it then replaces the instance, which ends with its last lease.
 */
export class ScheduledModel {
  readonly purpose: LoadPlan["purpose"];
  readonly users: LoadUsers;
  readonly queue = new RequestQueue<QueuedLoadRequest, Lease>();
  /** By the limit that requests set; 0 without one. */
  readonly shapes = new Map<number, RequestShape>();
  readonly #firstKey: string;
  readonly #options: ScheduledModelOptions;
  readonly #timer = new ExpiryTimer();
  #instance: ModelInstance | undefined;
  /** Has a larger context, and is loading. */
  #replacement: ModelInstance | undefined;
  /** Was replaced, and finishes its requests. */
  #replaced: ModelInstance | undefined;
  #meanLeaseMilliseconds = 0;

  constructor({ key, purpose }: LoadRequest, options: ScheduledModelOptions) {
    this.#firstKey = key;
    this.purpose = purpose;
    this.users = new LoadUsers(options.keepAlive);
    this.#options = options;
  }

  /** Of the model that has used it for longest. */
  get key(): string {
    return this.users.keys[0] ?? this.#firstKey;
  }

  isUsedBy(key: string): boolean {
    return this.users.keys.includes(key) || this.queue.requests.some((request) => request.key === key);
  }

  isUsedByOthers(key: string): boolean {
    const queued = this.queue.requests.map((request) => request.key);
    return [...this.users.activeKeys, ...queued].some((other) => other !== key);
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

  /** How many queued requests of clients, or of one owner, exceed the slots that are free or being loaded. */
  queuedBeyondSlots(ownerId?: string): number {
    const waiting = ownerId === undefined ? this.queue.clientLength : this.queue.waitingOf(ownerId);
    const instance = this.#instance;
    const slots = instance === undefined || instance.drain !== undefined ? 0 : instance.freeSlots;
    return Math.max(0, waiting - slots);
  }

  /** All waiting requests, in the order in which they would be served. */
  get positions(): readonly (QueuePosition & { readonly queued: QueuedRequest<QueuedLoadRequest, Lease> })[] {
    const now = performance.now();
    const { instance, meanLeaseMilliseconds } = this;
    // Those that will have a slot as soon as the model is loaded do not wait for others.
    const ahead = instance?.state.type === "serving" ? 0 : (instance?.freeSlots ?? 0);
    return this.queue.inOrder().map((queued, index) => {
      const position = Math.max(0, index + 1 - ahead);
      const load = { waiting: position, slots: instance?.slots ?? 1, meanLeaseMilliseconds };
      const seconds = meanLeaseMilliseconds === 0 ? undefined : estimateWaitSeconds(load);
      return { queued, position, seconds, waitedMilliseconds: now - queued.enqueuedAt };
    });
  }

  /** On the monotonic clock; while the model is in use, as if its last lease were released now. */
  get expiresAt(): number {
    return this.expiryOf();
  }

  /** Of one model, or of the last. */
  expiryOf(key?: string): number {
    const isBusy = this.#instance?.state.type !== "serving" || this.queue.length > 0;
    return this.users.expiresAt(isBusy, key);
  }

  /** Whether it can embed as well, while it is loaded to generate. */
  get embedsBeside(): boolean {
    const { state, drain } = this.#instance ?? {};
    if (state?.type !== "serving" || drain !== undefined || this.purpose !== "generate") return false;
    return state.engine.describe().embedsBesideGeneration === true;
  }

  /** For the memory budget. */
  get residents(): readonly (Resident & { readonly instance: ModelInstance })[] {
    return this.instances.map((instance) => {
      const { memoryBytes, usedAt, state, leases } = instance;
      const isIdle = state.type === "serving" && leases === 0 && this.queue.length === 0;
      const residentState = state.type === "unloading" ? "unloading" : isIdle ? "idle" : "busy";
      return { instance, memoryBytes, usedAt, state: residentState, isPinned: this.users.isPinned };
    });
  }

  canServe({ minContextTokens }: QueuedLoadRequest): boolean {
    return this.#instance !== undefined && minContextTokens <= this.#instance.plan.contextTokens;
  }

  /** Loads the model, or its replacement if it is loaded already. */
  load(request: QueuedLoadRequest, shape: LoadShape, memoryBytes: number): void {
    this.users.add(request);
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
      plan: {
        ...loadSettings,
        ...request.settings,
        ...files,
        ...shape,
        ...cacheOf(request),
        purpose: this.purpose,
      },
      memoryBytes,
      breakdown: estimateMemory(request, shape),
      onProgress: (percent) => {
        for (const queued of this.queue.requests) {
          if (queued.minContextTokens <= shape.contextTokens) queued.onLoadProgress?.(percent);
        }
      },
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
      const user = this.users.add(next.request);
      user.keepAlive = next.request.keepAlive ?? user.keepAlive;
      const meter = this.queue.charge(next);
      next.resolve(instance.grantLease(next, { engine, isWanted, user, meter }));
    }
    this.#timer.stop();
    if (instance.leases > 0) return;
    if (instance.drain !== undefined) instance.unload(instance.drain.reason);
    else if (this.#replacement !== undefined) return;
    else if (this.queue.length > 0) instance.unload("outgrown");
    else if (this.expiresAt <= performance.now()) instance.unload("expired");
    else {
      this.users.removeExpired();
      this.#timer.start(this.expiresAt, this.#options.onChange);
    }
  }

  /**
   * The next request to be served. One that needs a larger context waits for the replacement, or until the model is
   * idle. Others overtake it until then; without a replacement, only while there are running requests to wait for, and
   * not for ever.
   */
  #findNext(): QueuedRequest<QueuedLoadRequest, Lease> | undefined {
    const instance = this.#instance;
    if (instance === undefined) return undefined;
    const first = this.queue.next((queued) => instance.accepts(queued), instance);
    if (first === undefined || this.canServe(first.request)) return first;
    const isOverdue = performance.now() - first.enqueuedAt > maxOvertakenSeconds * 1000;
    if (this.#replacement === undefined && (isOverdue || instance.leases === 0)) return undefined;
    return this.queue.next(
      (queued) =>
        instance.accepts(queued) &&
        this.canServe(queued.request) &&
        (first.isBackground || !queued.isBackground),
      instance,
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
