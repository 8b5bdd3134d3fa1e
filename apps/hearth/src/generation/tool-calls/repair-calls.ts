import type { Tool } from "@hearth-and-keep/engine";
import { peek, readToEnd, skipWhitespace } from "../stream-parser/read-text.ts";
import { type ParserSteps, Scanner } from "../stream-parser/scanner.ts";
import type { Emit, SplitEvent } from "../stream-parser/split-events.ts";
import { CallWriter } from "./call-writer.ts";

/**
 * Completes and repairs the calls of a driver that parses output itself, by the same rules as those parsed here. A call
 * ends when the next one starts, or with the output.
 */
export async function* repairCalls(
  events: AsyncIterable<SplitEvent>,
  tools: readonly Tool[],
): AsyncGenerator<SplitEvent> {
  const ready: SplitEvent[] = [];
  let open: DriverCall | undefined;
  for await (const event of events) {
    if (event.type === "tool-call-start") {
      open?.end("stop");
      open = new DriverCall(event, tools, (emitted) => ready.push(emitted));
    } else if (event.type === "tool-call-delta") open?.push(event.argumentsText);
    else {
      if (event.type === "generation-end") open?.end(event.reason);
      ready.push(event);
    }
    yield* ready.splice(0);
  }
}

class DriverCall {
  readonly #scanner = new Scanner();
  readonly #writer: CallWriter;
  readonly #steps: ParserSteps;
  #isComplete = false;

  constructor(
    { index, id, name }: Extract<SplitEvent, { type: "tool-call-start" }>,
    tools: readonly Tool[],
    emit: Emit,
  ) {
    // The driver numbers the calls.
    const renumber: Emit = (event) => emit("index" in event ? { ...event, index } : event);
    this.#writer = new CallWriter(renumber, { tools, endMarkers: [] });
    this.#writer.start(name, id);
    this.#steps = this.#read();
  }

  push(text: string): void {
    this.#scanner.push({ text });
    this.#steps.next();
  }

  end(reason: "stop" | "length"): void {
    this.#scanner.end(reason);
    this.#steps.next();
    if (reason === "stop" || this.#isComplete) this.#writer.end();
    else this.#writer.fail("unfinished", "");
  }

  /** Anything but an object is dropped: the call has started, so that it cannot become text. */
  *#read(): ParserSteps {
    yield* skipWhitespace(this.#scanner);
    if ((yield* peek(this.#scanner)) === "{") {
      this.#isComplete = yield* this.#writer.readArguments(this.#scanner, true);
    }
    yield* readToEnd(this.#scanner, () => {});
  }
}
