/**
 * @module
 * Scheduling: grants leases on models, loads a model when requests are queued for it, and unloads it when its keep-alive
 * expires or another model needs the memory. Guarantees that the estimated memory of all models stays within the budget,
 * that queues are bounded, that the owners of requests take turns by tokens on each model, that models are loaded in the
 * order of arrival, that background requests come after all others, that an aborted request leaves its queue at once, that all queued requests share one load, and that a model loaded again
 * for a larger context keeps serving meanwhile if memory allows. Knows no dialect and no HTTP.
 * Imported by `generation/`, by the dialects, and by `main.ts`, which creates it.
 */

import { isDeepStrictEqual } from "node:util";
import type { EngineDriver } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import {
  type ContextWindow,
  chooseCacheType,
  findContextWindow,
  initialContextTokens,
  type WindowLimits,
  type WindowRequest,
} from "./context-window.ts";
import type { SchedulingEvent } from "./events.ts";
import type { SchedulingFailure } from "./failures.ts";
import { defaultLimits, type SchedulingLimits } from "./limits.ts";
import {
  candidateContexts,
  type Lease,
  type LoadRequest,
  modelKey,
  type QueuedLoadRequest,
  type RequestShape,
  withWindow,
} from "./load-request.ts";
import {
  bytesOverBudget,
  estimateContextBytes,
  estimateMemoryBytes,
  type MemoryNeed,
  planMemory,
} from "./memory-budget.ts";
import {
  listQueueLengths,
  listQueues,
  listRunningModels,
  type ModelQueue,
  type QueueLength,
  type RunningModel,
} from "./running-models.ts";
import { type LoadSettings, ScheduledModel } from "./scheduled-model.ts";
import { settlesWithin } from "./timeout.ts";
import { WaitingRequests } from "./waiting-requests.ts";

export type SchedulerOptions = {
  readonly driver: EngineDriver;
  readonly limits?: Partial<SchedulingLimits>;
  /** Applied to every load. */
  readonly loadSettings?: LoadSettings;
  readonly onEvent?: (event: SchedulingEvent) => void;
};

export type Scheduler = {
  /** Waits for a slot on the model. Rejects with a SchedulingFailure or the signal's reason. */
  acquire(request: LoadRequest, signal: AbortSignal): Promise<Lease>;
  /** Loads the model and keeps it for its keep-alive. */
  preload(request: LoadRequest, signal: AbortSignal): Promise<void>;
  /**
   * Unloads a model after serving the requests queued before; later ones wait for the next load. Resolves when the
   * memory is free again. With `force`, queued requests are rejected and running ones are stopped after the grace period.
   * If other models use the same load, it stays, and running requests finish.
   */
  unload(key: string, force?: { readonly graceSeconds: number }): Promise<void>;
  /** How much context a request may use. */
  readonly contextWindow: (request: WindowRequest) => ContextWindow;
  running(): readonly RunningModel[];
  queueLengths(): readonly QueueLength[];
  /** All models that are loaded or have queued requests, with the positions of these. */
  queues(): readonly ModelQueue[];
  /** Rejects queued requests, lets running ones finish within the grace period, and unloads everything. */
  close(graceSeconds: number): Promise<void>;
};

export function createScheduler(options: SchedulerOptions): Scheduler {
  return new ModelScheduler(options);
}

/** The same scheduler, for requests with these fields. */
export function bindRequests(scheduler: Scheduler, fields: Partial<LoadRequest>): Scheduler {
  return {
    acquire: (request, signal) => scheduler.acquire({ ...request, ...fields }, signal),
    preload: (request, signal) => scheduler.preload({ ...request, ...fields }, signal),
    unload: (key, force) => scheduler.unload(key, force),
    contextWindow: scheduler.contextWindow,
    running: () => scheduler.running(),
    queueLengths: () => scheduler.queueLengths(),
    queues: () => scheduler.queues(),
    close: (graceSeconds) => scheduler.close(graceSeconds),
  };
}

class ModelScheduler implements Scheduler {
  readonly #options: SchedulerOptions;
  readonly #limits: SchedulingLimits;
  readonly #models = new Map<string, ScheduledModel>();
  #lastTicket = 0;
  #isClosing = false;
  #idleTimer: NodeJS.Timeout | undefined;
  readonly #waitingRequests: WaitingRequests;

  constructor(options: SchedulerOptions) {
    this.#options = options;
    this.#limits = { ...defaultLimits(), ...options.limits };
    const listModels = (): readonly ScheduledModel[] => [...this.#models.values()];
    this.#waitingRequests = new WaitingRequests({
      limits: this.#limits,
      listModels,
      onEvent: options.onEvent,
    });
  }

  readonly contextWindow = (request: WindowRequest): ContextWindow => {
    return findContextWindow(request, this.#windowLimits());
  };

  #windowLimits(): WindowLimits {
    const { memoryBudgetBytes, contextTokens } = this.#limits;
    return { memoryBudgetBytes, contextTokens, cacheType: this.#options.loadSettings?.cacheType };
  }

  async acquire(loadRequest: LoadRequest, signal: AbortSignal): Promise<Lease> {
    signal.throwIfAborted();
    if (this.#isClosing) throw new FailureError<SchedulingFailure>({ kind: "server-stopping" });
    const known = this.#withKnownSettings(loadRequest);
    const request = this.#embedBeside(withWindow(known, this.#shapeOf(known)));
    this.#checkDemand(request);
    const model = this.#modelFor(request);
    if (!model.canServe(request)) this.#checkBudget(request);
    this.#models.set(modelKey(request), model);
    this.#lastTicket += 1;
    const { isBackground = false, owner } = request;
    const entry = { ticket: this.#lastTicket, request, signal, isBackground, onAbort: () => this.#advance() };
    const { queued, result } = model.queue.enqueue(owner === undefined ? entry : { ...entry, owner });
    this.#advance();
    // The request may have been granted its lease already.
    if (isBackground || !model.queue.has(queued.ticket)) return result;
    const failure = this.#waitingRequests.admit(model, queued);
    if (failure !== undefined) {
      queued.reject(new FailureError<SchedulingFailure>(failure));
      this.#advance();
    }
    return result;
  }

  /** Without a GPU its layers have no effect, so they must not cause another load. */
  #withKnownSettings(request: LoadRequest): LoadRequest {
    if (this.#options.driver.usesGpu === true || request.settings?.gpuLayers === undefined) return request;
    const { gpuLayers: _ignored, ...settings } = request.settings;
    return { ...request, settings };
  }

  /** The same for every request with this limit, so it is computed once while the model is loaded. */
  #shapeOf(request: LoadRequest): RequestShape {
    const shapes = this.#models.get(modelKey(request))?.shapes;
    const limit = request.contextTokens ?? 0;
    const shape = shapes?.get(limit) ?? {
      window: this.contextWindow(request),
      cacheType: chooseCacheType(request, this.#windowLimits()),
    };
    // Clients may send any number.
    if (shapes !== undefined && shapes.size >= maxShapes) shapes.clear();
    shapes?.set(limit, shape);
    return shape;
  }

  /**
   * Makes a request embed on its model if that is loaded to generate, so that the weights are not loaded twice. If the
   * engine cannot do that, or there is no memory for a second context, the request gets a load of its own.
   */
  #embedBeside(request: QueuedLoadRequest): QueuedLoadRequest {
    if (request.purpose !== "embed" || this.#models.has(modelKey(request))) return request;
    const besideBytes = estimateContextBytes(request, { contextTokens: request.window.tokens, sequences: 1 });
    const beside = { ...request, minContextTokens: 0, besideBytes };
    const model = this.#models.get(modelKey(beside));
    if (model?.instance === undefined || !model.embedsBeside) return request;
    const usedBytes = this.#residents().reduce((sum, { memoryBytes }) => sum + memoryBytes, 0);
    const neededBytes = usedBytes + model.instance.missingBytes(besideBytes);
    return neededBytes <= this.#limits.memoryBudgetBytes ? beside : request;
  }

  async preload(request: LoadRequest, signal: AbortSignal): Promise<void> {
    // A client that loads a model in advance with a certain context wants to have it when it needs it.
    const { contextTokens: neededTokens } = request;
    const lease = await this.acquire({ ...request, ...(neededTokens && { neededTokens }) }, signal);
    lease[Symbol.dispose]();
  }

  async unload(key: string, force?: { readonly graceSeconds: number }): Promise<void> {
    const used = [...this.#models.values()].filter((model) => model.isUsedBy(key));
    const models = used.filter((model) => !model.isUsedByOthers(key));
    const instances = models.flatMap((model) => model.instances);
    const unloaded = Promise.all(instances.map((instance) => instance.unloaded));
    const drain = { afterTicket: this.#lastTicket, reason: "requested" } as const;
    for (const instance of instances) instance.drain = drain;
    for (const model of used) {
      const error = new FailureError<SchedulingFailure>({ kind: "engine-unloaded" });
      if (force) model.queue.rejectAll(error, (request) => request.key === key);
      if (!models.includes(model)) model.users.remove(key);
    }
    this.#advance();
    if (force && !(await settlesWithin(force.graceSeconds, unloaded))) {
      for (const instance of instances) instance.unload("requested");
    }
    await unloaded;
  }

  running(): readonly RunningModel[] {
    return listRunningModels(this.#models.values());
  }

  queueLengths(): readonly QueueLength[] {
    return listQueueLengths(this.#models.values());
  }

  queues(): readonly ModelQueue[] {
    return listQueues(this.#models.values());
  }

  async close(graceSeconds: number): Promise<void> {
    this.#isClosing = true;
    clearTimeout(this.#idleTimer);
    this.#waitingRequests.close();
    const models = [...this.#models.values()];
    const instances = models.flatMap((model) => model.instances);
    for (const { queue } of models) {
      queue.rejectAll(new FailureError<SchedulingFailure>({ kind: "server-stopping" }));
    }
    for (const instance of instances) instance.drain = { afterTicket: 0, reason: "stopping" };
    this.#advance();
    const unloaded = Promise.all(instances.map((instance) => instance.unloaded));
    if (!(await settlesWithin(graceSeconds, unloaded))) {
      for (const instance of instances) instance.unload("stopping");
    }
    await unloaded;
  }

  #modelFor(request: LoadRequest): ScheduledModel {
    const { driver, loadSettings = {}, onEvent = () => undefined } = this.#options;
    const { keepAlive } = this.#limits;
    const onChange = (): void => this.#advance();
    return (
      this.#models.get(modelKey(request)) ??
      new ScheduledModel(request, { driver, loadSettings, keepAlive, onEvent, onChange })
    );
  }

  /** Rejects a request at once if there can never be enough memory for the context that its client set. */
  #checkDemand({ isContextDemanded, contextTokens = 0, ...request }: QueuedLoadRequest): void {
    if (isContextDemanded !== true || request.window.limitedBy !== "memory") return;
    const demandedTokens = Math.min(contextTokens, request.trainedContextTokens);
    throw insufficientMemory(estimateMemoryBytes(request, { contextTokens: demandedTokens, sequences: 1 }));
  }

  /** Rejects a request at once if its model can never fit into the budget. */
  #checkBudget(request: QueuedLoadRequest): void {
    const neededBytes = bytesOverBudget(this.#memoryNeed([request]), this.#limits.memoryBudgetBytes);
    if (neededBytes !== undefined) throw insufficientMemory(neededBytes);
  }

  #memoryNeed(requests: readonly [QueuedLoadRequest, ...QueuedLoadRequest[]]): MemoryNeed {
    const [{ size, cacheType, purpose, sequences }] = requests;
    const maxSequences = sequences ?? (purpose === "generate" ? this.#limits.sequences : 1);
    return {
      size,
      cacheType,
      contexts: candidateContexts(requests),
      maxSequences,
      // A remote engine uses no memory here.
      ...(sequences === undefined ? { maxTotalTokens: maxSequences * 2 * initialContextTokens } : {}),
    };
  }

  /** Performs every step that is possible now. Called after every change, so no pending work has to be tracked. */
  #advance(): void {
    const models = [...this.#models.values()];
    for (const model of models) this.#cancelDrains(model);
    for (const model of models) this.#replaceOutgrown(model);
    for (const model of models) model.serve();
    this.#loadNext();
    for (const [key, { instances, queue }] of this.#models) {
      if (instances.length === 0 && queue.length === 0) this.#models.delete(key);
    }
  }

  /** Cancels drains of a model if the request that needed its memory has left the queue. */
  #cancelDrains({ instances }: ScheduledModel): void {
    for (const instance of instances) {
      const forTicket = instance.drain?.forTicket;
      if (forTicket === undefined) continue;
      const isNeeded = this.#modelsToLoad().some(({ queue }) => queue.head?.ticket === forTicket);
      if (!isNeeded) instance.drain = undefined;
    }
  }

  /**
   * Loads a model with the larger context that requests need beside the instance it has, so that its other requests do
   * not wait for the load. Only into memory that nobody waits for, and only as large as it would be without the other;
   * otherwise the model is unloaded first, once it is idle.
   */
  #replaceOutgrown(model: ScheduledModel): void {
    const [first, ...later] = model.outgrowingRequests;
    if (first === undefined || this.#isClosing || this.#modelsToLoad().length > 0) return;
    const need = this.#memoryNeed([first, ...later]);
    const residents = this.#residents();
    const others = residents.filter(({ instance }) => instance !== model.instance);
    const beside = planMemory(need, residents, this.#limits.memoryBudgetBytes);
    const alone = planMemory(need, others, this.#limits.memoryBudgetBytes);
    if (beside.type !== "load" || alone.type !== "load") return;
    if (isDeepStrictEqual(beside.shape, alone.shape)) model.load(first, beside.shape, beside.memoryBytes);
  }

  /** Models with queued requests whose load has not started, in order of arrival; those of background requests last. */
  #modelsToLoad(): readonly ScheduledModel[] {
    return [...this.#models.values()]
      .filter(({ queue, instance }) => {
        return queue.length > 0 && (instance === undefined || instance.state.type === "unloading");
      })
      .toSorted((a, b) => turnOf(a) - turnOf(b));
  }

  /** Loads in order of arrival: otherwise a large model could wait forever behind small ones. */
  #loadNext(): void {
    for (const model of this.#modelsToLoad()) {
      if (model.instance !== undefined || !this.#startLoad(model)) return;
    }
  }

  /** Returns true if the load has started or is impossible; otherwise makes other models free their memory. */
  #startLoad(model: ScheduledModel): boolean {
    const { head, requests } = model.queue;
    if (head === undefined) return true;
    const need = this.#memoryNeed([head.request, ...requests.slice(1)]);
    const decision = planMemory(need, this.#residents(), this.#limits.memoryBudgetBytes);
    switch (decision.type) {
      case "load":
        model.load(head.request, decision.shape, decision.memoryBytes);
        return true;
      case "never":
        head.reject(insufficientMemory(decision.neededBytes));
        return this.#startLoad(model);
      case "wait": {
        if (head.isBackground) return this.#waitForIdle(decision.evict);
        for (const { instance } of decision.evict) instance.unload("evicted");
        const drain = { afterTicket: this.#lastTicket, reason: "evicted", forTicket: head.ticket } as const;
        for (const { instance } of decision.drain) instance.drain ??= drain;
        return false;
      }
    }
  }

  /**
   * Background requests never drain a model, and evict one only after its clients have paused for a while: an agent that
   * runs a tool will be back.
   */
  #waitForIdle(evicted: ScheduledModel["residents"]): false {
    const idleSince = Math.max(0, ...evicted.map(({ usedAt }) => usedAt));
    const remainingMilliseconds = idleSince + backgroundPauseSeconds * 1000 - performance.now();
    clearTimeout(this.#idleTimer);
    if (remainingMilliseconds > 0) {
      this.#idleTimer = setTimeout(() => this.#advance(), remainingMilliseconds).unref();
    } else for (const { instance } of evicted) instance.unload("evicted");
    return false;
  }

  #residents(): ScheduledModel["residents"] {
    // Unloading a model without memory frees nothing.
    return [...this.#models.values()].flatMap(({ residents }) =>
      residents.filter((each) => each.memoryBytes > 0),
    );
  }
}

const maxShapes = 64;
const backgroundPauseSeconds = 60;

function turnOf({ queue: { head } }: ScheduledModel): number {
  if (head === undefined) return 0;
  return head.isBackground ? Number.MAX_SAFE_INTEGER / 2 + head.ticket : head.ticket;
}

function insufficientMemory(neededBytes: number): FailureError<SchedulingFailure> {
  return new FailureError<SchedulingFailure>({ kind: "insufficient-memory", neededBytes });
}
