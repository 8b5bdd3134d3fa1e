import type { GenerationEnd } from "@hearth-and-keep/engine";
import type { GenerationEvent } from "../events.ts";
import { type Piece, Scanner, type Steps } from "./scanner.ts";

/** What passes between the steps of splitting: our events, and the engine's own end. */
export type AnswerEvent =
  | Exclude<GenerationEvent, { type: "generation-end" }>
  | { readonly type: "stop-sequence-match"; readonly stopSequence: string }
  | GenerationEnd;

export type Emit = (event: AnswerEvent) => void;

/** Reads raw text and emits what it turns out to be. Ending before the text does ends the source. */
export type Program = (scanner: Scanner, emit: Emit) => Steps;

/**
 * Runs a program over the text of a stream; other events pass through. An event that stands between two runs of
 * text ends the first run, so that nothing overtakes it and no marker reaches over it.
 */
export async function* splitEvents(
  events: AsyncIterable<AnswerEvent>,
  program: Program,
): AsyncGenerator<AnswerEvent> {
  const ready: AnswerEvent[] = [];
  const start = () => {
    const scanner = new Scanner();
    return { scanner, steps: program(scanner, (event) => ready.push(event)) };
  };
  let run = start();
  for await (const event of events) {
    const isText = event.type === "text-delta";
    if (isText) run.scanner.push(withoutType(event));
    else if (event.type !== "prompt-progress") {
      run.scanner.end(event.type === "generation-end" ? event.reason : "stop");
    }
    const isOver = event.type !== "prompt-progress" && run.steps.next().done === true;
    yield* ready.splice(0);
    if (isOver && run.scanner.endedBy === undefined) return;
    if (isOver) run = start();
    if (!isText) yield event;
  }
}

function withoutType({ text, tokens }: Piece): Piece {
  return tokens === undefined ? { text } : { text, tokens };
}

export function textDelta(piece: Piece): AnswerEvent {
  return { type: "text-delta", ...piece };
}
