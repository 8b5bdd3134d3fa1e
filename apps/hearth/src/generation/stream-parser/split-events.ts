import type { GenerationEnd } from "@hearth-and-keep/engine";
import type { OutputEvent } from "../events.ts";
import { type ParserSteps, Scanner, type TextChunk } from "./scanner.ts";

/** The events between two stages of parsing: output events, but with the engine's own end. */
export type SplitEvent =
  | Exclude<OutputEvent, { type: "generation-end" }>
  | { readonly type: "stop-sequence-match"; readonly stopSequence: string }
  | GenerationEnd;

export type Emit = (event: SplitEvent) => void;

/** Reads raw text and emits events. A parser that returns before the text ends stops the source. */
export type Parser = (scanner: Scanner, emit: Emit) => ParserSteps;

/**
 * Runs a parser over the text of a stream; other events pass through. An event between two runs of text ends the first
 * run, so that events stay in order and no marker spans it.
 */
export async function* splitEvents(
  events: AsyncIterable<SplitEvent>,
  parser: Parser,
): AsyncGenerator<SplitEvent> {
  const ready: SplitEvent[] = [];
  const start = () => {
    const scanner = new Scanner();
    return { scanner, steps: parser(scanner, (event) => ready.push(event)) };
  };
  let run = start();
  for await (const event of events) {
    const isText = event.type === "text-delta";
    if (isText) run.scanner.push(withoutType(event));
    else if (event.type !== "prompt-progress") {
      run.scanner.end(event.type === "generation-end" ? event.reason : "stop");
    }
    const isDone = event.type !== "prompt-progress" && run.steps.next().done === true;
    yield* ready.splice(0);
    if (isDone && run.scanner.endedBy === undefined) return;
    if (isDone) run = start();
    if (!isText) yield event;
  }
}

function withoutType({ text, tokens }: TextChunk): TextChunk {
  return tokens === undefined ? { text } : { text, tokens };
}

export function textDelta(chunk: TextChunk): SplitEvent {
  return { type: "text-delta", ...chunk };
}
