import type { EndReason, EngineEvent, TokenProbability } from "@hearth-and-keep/engine";
import { countOf, type Fields, fieldsOf, listOf, textOf } from "../wire/json-fields.ts";
import { WireError } from "../wire/wire-error.ts";
import { errorInEvent } from "./map-error.ts";
import { readProbabilities } from "./read-probabilities.ts";

export type ResponseOptions = {
  /** The whole text is the JSON of one tool call; it is wrapped in the tags that tool calls are parsed by. */
  readonly isBareCall: boolean;
  /** The requested limit; without one, the engine's context size, or more than any context. */
  readonly maxTokens: number;
};

const callPrefix = "<tool_call>\n";
const callSuffix = "\n</tool_call>";
/** Tolerance before a response is aborted: engines count tokens differently, and some report no count at all. */
const slack = { times: 2, tokens: 64 } as const;
/** A missing finish reason, or one for a generation that failed. Every other reason is a regular end. */
const failedFinishReasons: ReadonlySet<string> = new Set(["", "abort", "error"]);

/**
 * Converts the chunks of an OpenAI stream to events. A response that ends without a finish reason was interrupted and
 * throws, as a broken connection does. One that far exceeds the requested length is aborted and ends with `length`.
 */
export async function* readResponse(
  chunks: AsyncIterable<unknown>,
  { isBareCall, maxTokens }: ResponseOptions,
): AsyncGenerator<EngineEvent> {
  const accumulator = new ResponseAccumulator();
  const limit = maxTokens * slack.times + slack.tokens;
  let [hasBegun, exceedsLimit] = [false, false];
  for await (const chunk of chunks) {
    const fields = fieldsOf(chunk);
    // Some engines validate a request only after they have sent status 200.
    const errorEvent = errorInEvent(fields);
    if (errorEvent !== undefined)
      throw new WireError({ kind: "error-response", ...errorEvent, isMidStream: hasBegun });
    const events = accumulator.add(fields);
    if (events.length === 0) continue;
    if (isBareCall && !hasBegun) yield { type: "text-delta", text: callPrefix };
    hasBegun = true;
    yield* events;
    exceedsLimit = accumulator.minTokens() > limit;
    // Leaving the loop closes the connection, so the engine stops.
    if (exceedsLimit) break;
  }
  if (isBareCall && hasBegun) yield { type: "text-delta", text: callSuffix };
  yield exceedsLimit ? accumulator.endWith("length") : accumulator.end();
}

/** Accumulates the counts of a response: engines report them early, late, or not at all. */
class ResponseAccumulator {
  readonly #startedAt = performance.now();
  readonly #calls = new Set<number>();
  #firstAt: number | undefined;
  #hasReportedPrompt = false;
  #prompt: { readonly total: number; readonly cached: number } | undefined;
  #chunks = 0;
  #characters = 0;
  #outputTokens: number | undefined;
  #timings: Fields = {};
  #finish = "";

  add(chunk: Fields): readonly EngineEvent[] {
    this.#count(chunk);
    const choice = fieldsOf(listOf(chunk["choices"])[0]);
    this.#finish = textOf(choice["finish_reason"]) || this.#finish;
    const events = this.#read(choice);
    if (events.length === 0) return events;
    this.#firstAt ??= performance.now();
    this.#chunks += 1;
    for (const event of events) this.#characters += charactersOf(event);
    return [...this.#promptProgress(), ...events];
  }

  /**
   * A lower bound. If the engine reports no count, a chunk can be one token, several, or a single character where a proxy
   * has split it; no token has hundreds of characters.
   */
  minTokens(): number {
    const [chunks, characters] = [this.#chunks, this.#characters];
    return Math.max(this.#outputTokens ?? 0, Math.min(chunks, characters / 4), chunks / 8, characters / 256);
  }

  end(): EngineEvent {
    if (failedFinishReasons.has(this.#finish)) throw new WireError({ kind: "interrupted" });
    return this.endWith(this.#finish === "length" ? "length" : "stop");
  }

  endWith(reason: EndReason): EngineEvent {
    const now = performance.now();
    const firstAt = this.#firstAt ?? now;
    const { prompt_ms: promptTime, predicted_ms: outputTime } = this.#timings;
    return {
      type: "generation-end",
      reason,
      usage: {
        promptTokens: this.#prompt?.total ?? 0,
        cachedTokens: this.#prompt?.cached ?? 0,
        outputTokens: this.#outputTokens ?? this.#chunks,
      },
      timings: {
        promptMilliseconds: typeof promptTime === "number" ? promptTime : firstAt - this.#startedAt,
        outputMilliseconds: typeof outputTime === "number" ? outputTime : now - firstAt,
      },
    };
  }

  #count(chunk: Fields): void {
    const progress = fieldsOf(chunk["prompt_progress"]);
    const total = countOf(progress["total"]);
    if (total !== undefined) this.#prompt = { total, cached: countOf(progress["cache"]) ?? 0 };
    const usage = fieldsOf(chunk["usage"]);
    const timings = fieldsOf(chunk["timings"]);
    if (countOf(timings["prompt_n"]) !== undefined) this.#timings = timings;
    const promptTokens = countOf(usage["prompt_tokens"]);
    if (promptTokens === undefined) return;
    const details = fieldsOf(usage["prompt_tokens_details"]);
    const cached = countOf(details["cached_tokens"]) ?? countOf(timings["cache_n"]);
    this.#prompt = { total: promptTokens, cached: cached ?? this.#prompt?.cached ?? 0 };
    this.#outputTokens = countOf(usage["completion_tokens"]) ?? this.#outputTokens;
  }

  /** Emitted once, with the first chunk: until then the request may still move to another engine. */
  #promptProgress(): readonly EngineEvent[] {
    if (this.#hasReportedPrompt || this.#prompt === undefined) return [];
    this.#hasReportedPrompt = true;
    const { total, cached } = this.#prompt;
    return [{ type: "prompt-progress", evaluated: total, total, cached }];
  }

  #read(choice: Fields): readonly EngineEvent[] {
    const delta = Object.hasOwn(choice, "delta") ? fieldsOf(choice["delta"]) : choice;
    const reasoning = textOf(delta["reasoning_content"]) || textOf(delta["reasoning"]);
    const text = textOf(delta["content"]) || textOf(delta["text"]);
    const tokens = readProbabilities(choice["logprobs"]);
    return [
      ...(reasoning === "" ? [] : [{ type: "reasoning-delta", text: reasoning } as const]),
      ...(text === "" && tokens.length === 0 ? [] : [this.#textDelta(text, tokens)]),
      ...listOf(delta["tool_calls"]).flatMap((call) => this.#readCall(fieldsOf(call))),
    ];
  }

  #textDelta(text: string, tokens: readonly TokenProbability[]): EngineEvent {
    return {
      type: "text-delta",
      text,
      ...(this.#outputTokens === undefined ? {} : { outputTokens: this.#outputTokens }),
      ...(tokens.length === 0 ? {} : { tokens }),
    };
  }

  #readCall(call: Fields): readonly EngineEvent[] {
    const index = countOf(call["index"]) ?? 0;
    const { name, arguments: argumentsText } = fieldsOf(call["function"]);
    const events: EngineEvent[] = [];
    if (!this.#calls.has(index) && textOf(name) !== "") {
      this.#calls.add(index);
      const id = textOf(call["id"]) || `call_${index}`;
      events.push({ type: "tool-call-start", index, id, name: textOf(name) });
    }
    if (textOf(argumentsText) !== "" && this.#calls.has(index)) {
      events.push({ type: "tool-call-delta", index, argumentsText: textOf(argumentsText) });
    }
    return events;
  }
}

function charactersOf(event: EngineEvent): number {
  if (event.type === "text-delta" || event.type === "reasoning-delta") return event.text.length;
  return event.type === "tool-call-delta" ? event.argumentsText.length : 0;
}
