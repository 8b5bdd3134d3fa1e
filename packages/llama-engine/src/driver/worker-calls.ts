import type { EngineEvent, EngineFailure, EngineRequest } from "@hearth-and-keep/engine";
import { failureForOthers, failureForSuspects } from "@hearth-and-keep/engine-host";
import { FailureError } from "@hearth-and-keep/failures";
import type { FromWorker, ToWorker } from "../channel/messages.ts";
import { type CallResults, isResultOf } from "../channel/schema.ts";

type CallListener = {
  readonly onEvents: (events: readonly EngineEvent[]) => void;
  readonly onResult: (value: unknown) => void;
  readonly onError: (error: Error) => void;
  /** Set if it has a grammar, which can be the cause of a stall. */
  readonly constrained?: EngineRequest;
};

/** The pending calls of one worker. Every call ends exactly once, with a result or an error. */
export class WorkerCalls {
  readonly #send: (message: ToWorker) => void;
  readonly #pending = new Map<number, CallListener>();
  #nextId = 1;
  #failure: Error | undefined;

  constructor(send: (message: ToWorker) => void) {
    this.#send = send;
  }

  /** Registers a call and returns its id. After `failAll` it fails at once. */
  add(listener: CallListener): number {
    const id = this.#nextId++;
    if (this.#failure === undefined) this.#pending.set(id, listener);
    else listener.onError(this.#failure);
    return id;
  }

  call<Type extends keyof CallResults>(
    type: Type,
    createMessage: (id: number) => Extract<ToWorker, { type: Type }>,
    signal: AbortSignal,
  ): Promise<CallResults[Type]> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<CallResults[Type]>();
    const id = this.add({
      onEvents: () => undefined,
      onResult: (value) => {
        if (isResultOf(type, value)) resolve(value);
        else reject(new Error(`The worker's result of "${type}" is invalid`));
      },
      onError: reject,
    });
    const abort = (): void => {
      this.#send({ type: "abort", id });
      reject(signal.reason);
    };
    signal.addEventListener("abort", abort, { once: true });
    this.#send(createMessage(id));
    return promise.finally(() => signal.removeEventListener("abort", abort));
  }

  /** Leaving the loop or aborting the signal makes the worker stop, which frees its sequence. */
  async *generate(request: EngineRequest, signal: AbortSignal): AsyncGenerator<EngineEvent> {
    signal.throwIfAborted();
    const queue = new EventQueue();
    let isComplete = false;
    const id = this.add({
      onEvents: (events) => {
        isComplete ||= events.some(({ type }) => type === "generation-end");
        if (queue.push(events)) return;
        this.#pending.delete(id);
        this.#send({ type: "abort", id });
        queue.close(new Error("More output is waiting to be read than fits into memory"));
      },
      onResult: () =>
        queue.close(isComplete ? undefined : new Error("The worker ended a generation before its end")),
      onError: (error) => queue.close(error),
      ...(request.constraint === undefined ? {} : { constrained: request }),
    });
    const abort = (): void => {
      this.#send({ type: "abort", id });
      queue.close(toError(signal.reason));
    };
    signal.addEventListener("abort", abort, { once: true });
    this.#send({ type: "generate", id, request });
    let isFinished = false;
    try {
      yield* queue;
      isFinished = true;
    } finally {
      signal.removeEventListener("abort", abort);
      if (!isFinished) this.#send({ type: "abort", id });
    }
  }

  handleMessage(message: Extract<FromWorker, { id: number }>): void {
    const listener = this.#pending.get(message.id);
    if (message.type === "events") {
      listener?.onEvents(message.events);
      return;
    }
    this.#pending.delete(message.id);
    if (message.type === "result") listener?.onResult(message.value);
    else if (message.type === "failure") listener?.onError(new FailureError<EngineFailure>(message.failure));
    else listener?.onError(new Error(`Unexpected error in the worker: ${message.reason}`));
  }

  /**
   * Fails all pending calls and all later ones. If a grammar was the cause, calls without one can run again, and the
   * requests with one are returned: any of them may have been the cause. Of several, none is blamed.
   */
  failAll(failure: EngineFailure): readonly EngineRequest[] {
    const listeners = [...this.#pending.values()];
    this.#pending.clear();
    const isGrammar = failure.kind === "grammar-too-slow";
    const forOthers = failureForOthers(failure);
    this.#failure = new FailureError(forOthers);
    const suspects = isGrammar ? listeners.flatMap(({ constrained }) => constrained ?? []) : [];
    const forSuspects = failureForSuspects(failure, suspects);
    for (const { constrained, onError } of listeners) {
      const isSuspect = constrained !== undefined && suspects.includes(constrained);
      onError(new FailureError(isSuspect ? forSuspects : forOthers));
    }
    return suspects;
  }
}

/** The output of the longest contexts fits several times. */
const maxPendingCharacters = 32 * 1024 * 1024;
/** What the log-probabilities of one token take up, roughly. */
const charactersPerToken = 2000;

/** Buffers events between the worker's messages and the loop that consumes them. */
class EventQueue {
  #events: EngineEvent[] = [];
  #pendingCharacters = 0;
  #closed: { readonly error: Error | undefined } | undefined;
  #wake: (() => void) | undefined;

  /** Returns false if the events are too many to keep. */
  push(events: readonly EngineEvent[]): boolean {
    for (const event of events) this.#pendingCharacters += countCharacters(event);
    if (this.#pendingCharacters > maxPendingCharacters) return false;
    this.#events.push(...events);
    this.#wake?.();
    return true;
  }

  /** The loop ends, or throws the error, after it has consumed all events. */
  close(error?: Error): void {
    this.#closed ??= { error };
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<EngineEvent> {
    while (true) {
      const events = this.#events;
      this.#events = [];
      this.#pendingCharacters = 0;
      yield* events;
      if (this.#events.length > 0) continue;
      if (this.#closed !== undefined) {
        if (this.#closed.error !== undefined) throw this.#closed.error;
        return;
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

function countCharacters(event: EngineEvent): number {
  const tokens = event.type === "text-delta" ? (event.tokens?.length ?? 0) : 0;
  return 100 + ("text" in event ? event.text.length : 0) + tokens * charactersPerToken;
}

/** The reason of a signal can be any value. */
function toError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
