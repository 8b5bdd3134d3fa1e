/**
 * @module
 * The heart of Hearth: what a conversation asks of an engine, and what comes back, in words of no protocol.
 * Promises a closed union of events in order, `generation-end` once and last, and visible text that holds no
 * tag, no half call and no stop string, however the engine cuts its text.
 * Knows no dialect and no HTTP. Imported by the dialects, which translate its events.
 */
import type { EngineEvent, JsonObject, TextDelta, Timings, Usage } from "@hearth-and-keep/engine";

export type GenerationEvent =
  | Extract<EngineEvent, { type: "prompt-progress" | "reasoning-delta" | "tool-call-start" }>
  /** Visible text, with the probabilities of its own tokens when they were asked for. */
  | TextDelta
  /** All deltas of a call, joined, are exactly the JSON text of its arguments. */
  | Extract<EngineEvent, { type: "tool-call-delta" }>
  | { readonly type: "tool-call-end"; readonly index: number; readonly arguments: JsonObject }
  | ToolCallFailure
  | {
      readonly type: "generation-end";
      readonly reason: "stop" | "length" | "stop-sequence" | "tool-calls";
      /** Which one was met, when the reason is `stop-sequence`. */
      readonly stopSequence?: string;
      readonly usage: GenerationUsage;
      readonly timings: Timings;
    };

/**
 * Comes instead of `tool-call-end`. `unfinished`: the answer ended inside the call. `malformed`: it is no call, or
 * its arguments are no JSON object. No JSON is invented; `text` is what the model wrote. When nothing but the
 * beginning was readable, no `tool-call-start` came before, and the index is the one it would have had.
 */
export type ToolCallFailure = {
  readonly type: "tool-call-fail";
  readonly index: number;
  readonly reason: "unfinished" | "malformed";
  readonly text: string;
};

type GenerationUsage = Usage & {
  /** Of the output's tokens, those that were thinking. */
  readonly reasoningTokens: number;
};
