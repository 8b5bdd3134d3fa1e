import type { EngineEvent, Tool } from "@hearth-and-keep/engine";
import { AnswerMeter, type AnswerParts } from "./answer-meter.ts";
import type { GenerationEvent } from "./events.ts";
import { isHarmony, splitHarmony } from "./harmony.ts";
import { opensReasoning, splitReasoning } from "./reasoning.ts";
import { detectReasoningFormat, type ReasoningFormat } from "./reasoning-formats.ts";
import type { AnswerEvent } from "./splitting/split-events.ts";
import { holdBackStops } from "./stop-sequences.ts";
import { detectToolCallFormat, type ToolCallFormat } from "./tool-calls/formats.ts";
import { splitToolCalls } from "./tool-calls/split-tool-calls.ts";

/** How a model's raw text is to be read, told by its chat template. */
export type AnswerFormat =
  | { readonly type: "harmony" }
  | {
      readonly type: "tags";
      readonly reasoning: ReasoningFormat | undefined;
      readonly toolCalls: ToolCallFormat;
    }
  /** The driver splits the answer itself. */
  | { readonly type: "split" };

export type AnswerPlan = {
  readonly format: AnswerFormat;
  readonly startsInReasoning: boolean;
  /** Without tools no text is taken for a call. */
  readonly tools: readonly Tool[];
  readonly stops: readonly string[];
  /** After this many whole calls the answer is over, whatever the model would go on to write. */
  readonly mostCalls?: number;
};

/**
 * Turns what an engine says into events.
 *
 * Thinking is split first, so that a call a model only thinks about is not made. Stop sequences come last, on
 * visible text alone: inside thinking they would end an answer before it began, inside a call they would cut its
 * arguments in half.
 */
export async function* splitAnswer(
  events: AsyncIterable<EngineEvent>,
  plan: AnswerPlan,
  parts: AnswerParts,
): AsyncGenerator<GenerationEvent> {
  const meter = new AnswerMeter(parts);
  const split = holdBackStops(splitText(meter.watch(events), plan), plan.stops);
  for await (const event of meter.closeCalls(split)) {
    if (event.type === "stop-sequence-match") {
      yield await meter.endByUs({ reason: "stop-sequence", stopSequence: event.stopSequence });
      // Leaving the loop ends the engine's stream.
      return;
    }
    yield event.type === "generation-end" ? await meter.endByEngine(event) : event;
    if (event.type === "tool-call-end" && meter.wholeCalls === plan.mostCalls) {
      yield await meter.endByUs({ reason: "tool-calls" });
      return;
    }
  }
}

/** Undecided templates are read for the tags of no family, and for calls in the generic format. */
export function detectAnswerFormat(template: string | null): AnswerFormat {
  if (template !== null && isHarmony(template)) return { type: "harmony" };
  return {
    type: "tags",
    reasoning: template === null ? undefined : detectReasoningFormat(template),
    toolCalls: detectToolCallFormat(template),
  };
}

/** Whether a rendered prompt leaves the model in the middle of its thinking. */
export function promptOpensReasoning(prompt: string, format: AnswerFormat): boolean {
  return format.type === "tags" && format.reasoning !== undefined && opensReasoning(prompt, format.reasoning);
}

function splitText(events: AsyncIterable<AnswerEvent>, plan: AnswerPlan): AsyncIterable<AnswerEvent> {
  const { format, tools, startsInReasoning } = plan;
  if (format.type === "split") return events;
  if (format.type === "harmony") return splitHarmony(events, tools);
  const { reasoning, toolCalls } = format;
  const answer =
    reasoning === undefined ? events : splitReasoning(events, { format: reasoning, startsInReasoning });
  return tools.length === 0 ? answer : splitToolCalls(answer, { format: toolCalls, tools });
}
