/** Events on their way from a callback to a loop: pushed by one side, iterated by the other. */
export class EventQueue<Event> {
  #waiting: Event[] = [];
  #end: { readonly problem: Error | undefined } | undefined;
  #wake: (() => void) | undefined;

  push(events: readonly Event[]): void {
    this.#waiting.push(...events);
    this.#wake?.();
  }

  /** With a problem the loop throws it, after everything pushed before. */
  close(problem?: Error): void {
    this.#end ??= { problem };
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Event> {
    while (true) {
      const events = this.#waiting;
      this.#waiting = [];
      yield* events;
      if (this.#waiting.length > 0) continue;
      if (this.#end !== undefined) {
        if (this.#end.problem !== undefined) throw this.#end.problem;
        return;
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
