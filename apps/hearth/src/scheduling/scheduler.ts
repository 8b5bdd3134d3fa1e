/**
 * @module
 * Whose turn it is: models are lent by lease, loaded when somebody waits for them, and unloaded when their keep-alive
 * runs out or another model needs the memory. Promises: the memory counted for all models stays within the budget;
 * lines are bounded and first come first served, across models too; a caller that gives up is out at once; a load
 * is shared by all who wait for it. Knows no dialect and no HTTP.
 * Imported by `generation/`, by the dialects through their parts, and by `main.ts`, which makes it.
 */

import type { EngineDriver } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import type { SchedulingEvent } from "./events.ts";
import type { SchedulingFailure } from "./failures.ts";
import { defaultLimits, type SchedulingLimits } from "./limits.ts";
import { contextsFor, type Lease, type ModelWish } from "./load-request.ts";
import { bytesBeyond, makeRoom, type Need, type Resident } from "./memory-budget.ts";
import { estimateRetrySeconds } from "./request-queue.ts";
import { listQueues, listRunning, type QueueLength, type RunningModel } from "./running-models.ts";
import { type LoadSettings, ScheduledModel } from "./scheduled-model.ts";
import { withinSeconds } from "./timeout.ts";

export type SchedulerParts = {
  readonly driver: EngineDriver;
  readonly limits?: Partial<SchedulingLimits>;
  /** The same for every load. */
  readonly loadSettings?: LoadSettings;
  readonly onEvent?: (event: SchedulingEvent) => void;
};

export type Scheduler = {
  /** Waits for a place on the model; rejects with SchedulingFailure, or with the signal's reason. */
  lend(wish: ModelWish, signal: AbortSignal): Promise<Lease>;
  /** Loads and keeps the model as its keep-alive says. */
  preload(wish: ModelWish, signal: AbortSignal): Promise<void>;
  /**
   * Who came before is served, who comes after waits for another load; settles when the memory is free again. By
   * force, those who wait are turned away and those who run are cut off when the grace is over.
   */
  unload(key: string, force?: { readonly graceSeconds: number }): Promise<void>;
  running(): readonly RunningModel[];
  queueLengths(): readonly QueueLength[];
  /** Turns away who waits, lets who runs finish within the grace, and unloads everything. */
  close(graceSeconds: number): Promise<void>;
};

export function createScheduler(parts: SchedulerParts): Scheduler {
  return new ModelScheduler(parts);
}

class ModelScheduler implements Scheduler {
  readonly #parts: SchedulerParts;
  readonly #limits: SchedulingLimits;
  readonly #models = new Map<string, ScheduledModel>();
  #lastTicket = 0;
  #isClosing = false;

  constructor(parts: SchedulerParts) {
    this.#parts = parts;
    this.#limits = { ...defaultLimits(), ...parts.limits };
  }

  async lend(wish: ModelWish, signal: AbortSignal): Promise<Lease> {
    signal.throwIfAborted();
    if (this.#isClosing) throw new FailureError<SchedulingFailure>({ kind: "server-stopping" });
    const model = this.#modelFor(wish);
    const neededBytes = bytesBeyond(this.#needOf([wish]), this.#limits.memoryBudgetBytes);
    if (neededBytes !== undefined && !model.canServe(wish)) throw memoryLacking(neededBytes);
    this.#models.set(identityOf(wish), model);
    this.#lastTicket += 1;
    const entry = { ticket: this.#lastTicket, wish, signal, onLeave: () => this.#advance() };
    const { waiter, given } = model.line.join(entry);
    this.#advance();
    // Counted only now, because the first of a line may have been given its place already.
    if (model.line.has(waiter.ticket) && this.#isOverfull(model)) {
      waiter.refuse(this.#queueFull(model));
      this.#advance();
    }
    return given;
  }

  async preload(wish: ModelWish, signal: AbortSignal): Promise<void> {
    const lease = await this.lend(wish, signal);
    lease[Symbol.dispose]();
  }

  async unload(key: string, force?: { readonly graceSeconds: number }): Promise<void> {
    const models = [...this.#models.values()].filter((model) => model.key === key);
    const hostings = models.flatMap(({ hosting }) => hosting ?? []);
    const gone = Promise.all(hostings.map((hosting) => hosting.gone));
    const closing = { afterTicket: this.#lastTicket, reason: "asked" } as const;
    for (const hosting of hostings) hosting.closing = closing;
    for (const { line } of models) {
      if (force) line.refuseAll(new FailureError<SchedulingFailure>({ kind: "engine-unloaded" }));
    }
    this.#advance();
    if (force && !(await withinSeconds(force.graceSeconds, gone))) {
      for (const hosting of hostings) hosting.leave("asked");
    }
    await gone;
  }

  running(): readonly RunningModel[] {
    return listRunning(this.#models.values());
  }

  queueLengths(): readonly QueueLength[] {
    return listQueues(this.#models.values());
  }

  async close(graceSeconds: number): Promise<void> {
    this.#isClosing = true;
    const models = [...this.#models.values()];
    const hostings = models.flatMap(({ hosting }) => hosting ?? []);
    for (const { line } of models) {
      line.refuseAll(new FailureError<SchedulingFailure>({ kind: "server-stopping" }));
    }
    for (const hosting of hostings) hosting.closing = { afterTicket: 0, reason: "stopping" };
    this.#advance();
    const gone = Promise.all(hostings.map((hosting) => hosting.gone));
    if (!(await withinSeconds(graceSeconds, gone))) {
      for (const hosting of hostings) hosting.leave("stopping");
    }
    await gone;
  }

  #modelFor(wish: ModelWish): ScheduledModel {
    const { driver, loadSettings = {}, onEvent = () => undefined } = this.#parts;
    const { keepAlive } = this.#limits;
    const onChange = (): void => this.#advance();
    return (
      this.#models.get(identityOf(wish)) ??
      new ScheduledModel(wish, { driver, loadSettings, keepAlive, onEvent, onChange })
    );
  }

  #needOf(wishes: readonly [ModelWish, ...ModelWish[]]): Need {
    const [{ size, purpose, sequences }] = wishes;
    return {
      size,
      cacheType: this.#parts.loadSettings?.cacheType,
      contexts: contextsFor(wishes, this.#limits.contextTokens),
      mostSequences: sequences ?? (purpose === "generate" ? this.#limits.sequences : 1),
    };
  }

  #isOverfull(model: ScheduledModel): boolean {
    const waitingInAll = [...this.#models.values()].reduce((sum, { waiting }) => sum + waiting, 0);
    return model.waiting > this.#limits.waitingLine || waitingInAll > this.#limits.waitingInAll;
  }

  #queueFull(model: ScheduledModel): FailureError<SchedulingFailure> {
    const { key, purpose, meanLeaseMilliseconds, hosting } = model;
    const waiting = model.line.length - 1;
    const places = hosting?.places ?? 1;
    this.#parts.onEvent?.({ type: "queue-full", key, purpose, waiting });
    const retryAfterSeconds = estimateRetrySeconds({ waiting, places, meanLeaseMilliseconds });
    return new FailureError<SchedulingFailure>({ kind: "queue-full", waiting, retryAfterSeconds });
  }

  /** Everything that can happen now happens; called after every change, so nothing else has to be remembered. */
  #advance(): void {
    const models = [...this.#models.values()];
    for (const model of models) this.#reopen(model);
    for (const model of models) model.serve();
    this.#loadNext();
    for (const [identity, { hosting, line }] of this.#models) {
      if (hosting === undefined && line.length === 0) this.#models.delete(identity);
    }
  }

  /** A model that had to make room stays after all when the request it made room for has gone. */
  #reopen({ hosting }: ScheduledModel): void {
    const forTicket = hosting?.closing?.forTicket;
    if (hosting === undefined || forTicket === undefined) return;
    const isWanted = this.#modelsToLoad().some(({ line }) => line.head?.ticket === forTicket);
    if (!isWanted) hosting.closing = undefined;
  }

  /** Those who wait for a load that has not begun, by who came first. */
  #modelsToLoad(): readonly ScheduledModel[] {
    return [...this.#models.values()]
      .filter(({ line, hosting }) => {
        return line.length > 0 && (hosting === undefined || hosting.stage.type === "leaving");
      })
      .toSorted((a, b) => (a.line.head?.ticket ?? 0) - (b.line.head?.ticket ?? 0));
  }

  /** Nobody overtakes: a model that needs much memory would otherwise wait for ever behind small ones. */
  #loadNext(): void {
    for (const model of this.#modelsToLoad()) {
      if (model.hosting !== undefined || !this.#hasBegun(model)) return;
    }
  }

  /** Whether the load began, or turned out to be impossible; otherwise those who must make room are told. */
  #hasBegun(model: ScheduledModel): boolean {
    const { head, wishes } = model.line;
    if (head === undefined) return true;
    const need = this.#needOf([head.wish, ...wishes.slice(1)]);
    const decision = makeRoom(need, this.#residents(), this.#limits.memoryBudgetBytes);
    switch (decision.type) {
      case "load":
        model.load(head.wish, decision.shape, decision.memoryBytes);
        return true;
      case "never":
        head.refuse(memoryLacking(decision.neededBytes));
        return this.#hasBegun(model);
      case "wait": {
        for (const { hosting } of decision.evict) hosting.leave("evicted");
        const closing = { afterTicket: this.#lastTicket, reason: "evicted", forTicket: head.ticket } as const;
        for (const { hosting } of decision.drain) hosting.closing ??= closing;
        return false;
      }
    }
  }

  #residents(): readonly (Resident & { readonly hosting: NonNullable<ScheduledModel["hosting"]> })[] {
    return [...this.#models.values()].flatMap(({ resident, hosting }) => {
      // What takes no memory can make no room.
      const takesMemory = resident !== undefined && resident.memoryBytes > 0;
      return !takesMemory || hosting === undefined ? [] : { ...resident, hosting };
    });
  }
}

/** The same model is loaded apart for each purpose, because its context differs. */
function identityOf({ key, purpose }: ModelWish): string {
  return `${purpose} ${key}`;
}

function memoryLacking(neededBytes: number): FailureError<SchedulingFailure> {
  return new FailureError<SchedulingFailure>({ kind: "memory-lacking", neededBytes });
}
