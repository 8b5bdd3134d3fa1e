import type { Engine, EngineEvent, Tool } from "@hearth-and-keep/engine";
import type { OutputEvent } from "./events.ts";
import { closeHarmonyThinking, isHarmony, splitHarmony } from "./harmony.ts";
import { OutputMeter, type OutputMeterOptions } from "./output-meter.ts";
import {
  closeTaggedThinking,
  detectReasoningFormat,
  opensReasoning,
  type ReasoningFormat,
  splitReasoning,
} from "./reasoning.ts";
import { closeThinkingToSelf, hasRecipients, splitRecipients } from "./recipients.ts";
import { readUntil } from "./stream-parser/read-text.ts";
import { type SplitEvent, splitEvents, textDelta } from "./stream-parser/split-events.ts";
import { detectToolCallFormat, type ToolCallFormat } from "./tool-calls/formats.ts";
import { repairCalls } from "./tool-calls/repair-calls.ts";
import { splitToolCalls } from "./tool-calls/split-tool-calls.ts";

/** How to parse a model's raw output, detected from its chat template. */
export type OutputFormat =
  | { readonly type: "harmony" }
  | { readonly type: "recipients" }
  | {
      readonly type: "tags";
      readonly reasoning: ReasoningFormat | undefined;
      readonly toolCalls: ToolCallFormat;
    }
  /** The driver parses the output itself. */
  | { readonly type: "split" };

export type OutputPlan = {
  readonly format: OutputFormat;
  readonly startsInReasoning: boolean;
  /** If empty, no text is parsed as a tool call. Their schemas decide the types of arguments. */
  readonly tools: readonly Tool[];
  readonly stops: readonly string[];
  /** Generation stops after this many complete calls. */
  readonly maxCalls?: number;
};

/**
 * Turns an engine's output into events.
 *
 * Thinking is split off first, so that a call the model only thinks about is not made. Stop sequences come last and
 * apply to visible text only: inside thinking they would end the response before it starts, inside a call they would
 * cut its arguments.
 */
export async function* splitOutput(
  events: AsyncIterable<EngineEvent>,
  plan: OutputPlan,
  options: OutputMeterOptions,
): AsyncGenerator<OutputEvent> {
  const meter = new OutputMeter(options);
  const split = holdBackStops(splitText(meter.watch(events), plan), plan.stops);
  for await (const event of meter.watchParsed(split)) {
    if (event.type === "stop-sequence-match") {
      yield await meter.endEarly({ reason: "stop-sequence", stopSequence: event.stopSequence });
      // Leaving the loop stops the engine.
      return;
    }
    yield event.type === "generation-end" ? await meter.endByEngine(event) : event;
    if (event.type === "tool-call-end" && meter.completeCalls === plan.maxCalls) {
      yield await meter.endEarly({ reason: "tool-calls" });
      return;
    }
  }
}

/** Every template is searched once, as long as there are not very many. */
const formats = new Map<string | null, OutputFormat>();
const maxFormats = 64;

export function getOutputFormat(engine: Pick<Engine, "describe">): OutputFormat {
  const { chatTemplate } = engine.describe();
  const format = formats.get(chatTemplate) ?? detectOutputFormat(chatTemplate);
  if (formats.size >= maxFormats) formats.clear();
  formats.set(chatTemplate, format);
  return format;
}

/** An unknown template has no thinking tags and the generic format for tool calls. */
export function detectOutputFormat(template: string | null): OutputFormat {
  if (template !== null && isHarmony(template)) return { type: "harmony" };
  if (template !== null && hasRecipients(template)) return { type: "recipients" };
  return {
    type: "tags",
    reasoning: template === null ? undefined : detectReasoningFormat(template),
    toolCalls: detectToolCallFormat(template),
  };
}

/** Whether a rendered prompt ends inside the model's thinking. */
export function promptOpensReasoning(prompt: string, format: OutputFormat): boolean {
  return format.type === "tags" && format.reasoning !== undefined && opensReasoning(prompt, format.reasoning);
}

/** The text that ends the thinking in which raw output stops; undefined if it does not stop in thinking. */
export function closeThinking(output: string, plan: OutputPlan): string | undefined {
  const { format, tools, startsInReasoning } = plan;
  switch (format.type) {
    case "split":
      return undefined;
    case "harmony":
      return closeHarmonyThinking(output, tools.length > 0);
    case "recipients":
      return closeThinkingToSelf(output, tools.length > 0);
    case "tags":
      return format.reasoning && closeTaggedThinking(output, { format: format.reasoning, startsInReasoning });
  }
}

function splitText(events: AsyncIterable<SplitEvent>, plan: OutputPlan): AsyncIterable<SplitEvent> {
  const { format, tools, startsInReasoning } = plan;
  if (format.type === "split") return repairCalls(events, tools);
  if (format.type === "harmony") return splitHarmony(events, tools);
  if (format.type === "recipients") return splitRecipients(events, tools);
  const { reasoning, toolCalls } = format;
  const response =
    reasoning === undefined ? events : splitReasoning(events, { format: reasoning, startsInReasoning });
  return tools.length === 0 ? response : splitToolCalls(response, { format: toolCalls, tools });
}

/**
 * Ends the visible text at the first stop sequence, which is not emitted. Text that may be the start of one is held
 * back until the next characters decide; everything before it is emitted at once. After a match,
 * `stop-sequence-match` is the last event. If several sequences match at the same position, the longest wins.
 */
export async function* holdBackStops(
  events: AsyncIterable<SplitEvent>,
  stops: readonly string[],
): AsyncGenerator<SplitEvent> {
  // An empty stop sequence would match before the first character.
  const markers = stops.filter((stop) => stop !== "");
  if (markers.length === 0) {
    yield* events;
    return;
  }
  yield* splitEvents(events, function* findStop(scanner, emit) {
    // A partial stop sequence at the end is ordinary text.
    const found = yield* readUntil(scanner, { markers, partialMarkerAtEnd: "keep" }, (chunk) =>
      emit(textDelta(chunk)),
    );
    if (found !== undefined) emit({ type: "stop-sequence-match", stopSequence: found });
  });
}
