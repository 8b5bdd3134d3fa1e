/**
 * @module
 * Generation: runs a request on an engine and turns the model's raw output into events, independent of any API.
 * Guarantees a closed union of events in order, with `generation-end` once and last, and visible text without tags,
 * partial tool calls or stop sequences, however the engine chunks its output.
 * Knows no dialect and no HTTP. Imported by the dialects, which translate its events.
 */
import type { EngineEvent, JsonObject, TextDelta, Timings, Usage } from "@hearth-and-keep/engine";

export type GenerationEvent = GenerationStart | OutputEvent;

/** The first event of every generation, before the engine's output. */
type GenerationStart = {
  readonly type: "generation-start";
  readonly contextTokens: number;
  readonly loadMilliseconds: number;
  readonly queueMilliseconds: number;
  /** How many of the oldest messages were dropped because they did not fit. */
  readonly droppedMessages: number;
  /** The seed in use; random if the request has none. */
  readonly seed: number;
};

/** The model's output, parsed. */
export type OutputEvent =
  | Extract<EngineEvent, { type: "prompt-progress" | "reasoning-delta" | "tool-call-start" }>
  /** Visible text, with the log-probabilities of its tokens if requested. */
  | TextDelta
  /** The deltas of a call that ends, joined, are exactly the JSON text of its arguments. */
  | Extract<EngineEvent, { type: "tool-call-delta" }>
  | { readonly type: "tool-call-end"; readonly index: number; readonly arguments: JsonObject }
  | ToolCallFailure
  | {
      readonly type: "generation-end";
      readonly reason: "stop" | "length" | "stop-sequence" | "tool-calls";
      /** The matched sequence, if the reason is `stop-sequence`. */
      readonly stopSequence?: string;
      readonly usage: GenerationUsage;
      readonly timings: Timings;
    };

/**
 * Replaces `tool-call-end`. `unfinished`: the token limit cut the call. `malformed`: its arguments exceed the limits for
 * JSON. All other damage is repaired, or else the output is text. The call must not be run, and `text`, which is what the
 * model wrote, must not be shown. If not even the name could be read, there was no `tool-call-start`, and `index` is
 * the one the call would have had.
 */
export type ToolCallFailure = {
  readonly type: "tool-call-fail";
  readonly index: number;
  readonly reason: "unfinished" | "malformed";
  readonly text: string;
};

type GenerationUsage = Usage & {
  /** Output tokens that were thinking. */
  readonly reasoningTokens: number;
};
