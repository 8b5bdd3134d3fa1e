import type { EngineEvent, EngineFailure } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import type { FromWorker } from "../worker/messages.ts";

export type CallListener = {
  readonly onEvents: (events: readonly EngineEvent[]) => void;
  readonly onAnswer: (value: unknown) => void;
  readonly onProblem: (problem: Error) => void;
};

/** Who waits for which answer of one worker. Every caller hears exactly once how its call ended. */
export class CallLedger {
  readonly #waiting = new Map<number, CallListener>();
  #nextId = 1;
  #end: Error | undefined;

  get size(): number {
    return this.#waiting.size;
  }

  open(listener: CallListener): number {
    const id = this.#nextId++;
    if (this.#end === undefined) this.#waiting.set(id, listener);
    else listener.onProblem(this.#end);
    return id;
  }

  hear(message: Extract<FromWorker, { id: number }>): void {
    const listener = this.#waiting.get(message.id);
    if (message.type === "events") {
      listener?.onEvents(message.events);
      return;
    }
    this.#waiting.delete(message.id);
    if (message.type === "answer") listener?.onAnswer(message.value);
    else if (message.type === "failed") listener?.onProblem(new FailureError<EngineFailure>(message.failure));
    else listener?.onProblem(new Error(`Cannot finish in the worker: ${message.reason}`));
  }

  /** Tells every caller, and those who come later, that there will be no answers any more. */
  end(problem: Error): void {
    this.#end = problem;
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const listener of waiting) listener.onProblem(problem);
  }
}
