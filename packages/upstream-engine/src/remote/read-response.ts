import type { EndReason, EngineEvent, TokenProbability } from "@hearth-and-keep/engine";
import { countOf, type Fields, fieldsOf, listOf, textOf } from "../wire/json-fields.ts";
import { WireError } from "../wire/wire-error.ts";
import { refusalWithin } from "./map-error.ts";
import { readProbabilities } from "./read-probabilities.ts";

export type ReadingPlan = {
  /** The whole text is the JSON of one call; it is put between the tags that calls are read by. */
  readonly isBareCall: boolean;
  /** As was asked for; the engine's context, or more than any has, where nothing was. */
  readonly maxTokens: number;
};

const callBegins = "<tool_call>\n";
const callEnds = "\n</tool_call>";
/** Before an answer is cut off: engines count in other ways than ours, and some do not tell their count at all. */
const slack = { times: 2, tokens: 64 } as const;
/** No reason, or one that says that the engine did not come to its end. Any other is an end, whatever its name. */
const givenUp: ReadonlySet<string> = new Set(["", "abort", "error"]);

/**
 * The pieces of an OpenAI stream as events. An answer that ends without saying why was cut off: it throws, as a
 * connection that breaks does. One that grows far beyond what was asked for is ended here, by its length.
 */
export async function* readAnswer(
  pieces: AsyncIterable<unknown>,
  { isBareCall, maxTokens }: ReadingPlan,
): AsyncGenerator<EngineEvent> {
  const tally = new AnswerTally();
  const limit = maxTokens * slack.times + slack.tokens;
  let [hasBegun, isOver] = [false, false];
  for await (const piece of pieces) {
    const fields = fieldsOf(piece);
    // Some engines look at a request only when they have said that all is well.
    const refusal = refusalWithin(fields);
    if (refusal !== undefined) throw new WireError({ kind: "refused", ...refusal, isMidway: hasBegun });
    const events = tally.take(fields);
    if (events.length === 0) continue;
    if (isBareCall && !hasBegun) yield { type: "text-delta", text: callBegins };
    hasBegun = true;
    yield* events;
    isOver = tally.leastTokens() > limit;
    // Leaving the loop closes the connection, so the engine stops.
    if (isOver) break;
  }
  if (isBareCall && hasBegun) yield { type: "text-delta", text: callEnds };
  yield isOver ? tally.endBy("length") : tally.end();
}

/** Counts an answer while it is read: engines tell their figures early, late, or not at all. */
class AnswerTally {
  readonly #startedAt = performance.now();
  readonly #calls = new Set<number>();
  #firstAt: number | undefined;
  #hasToldPrompt = false;
  #prompt: { readonly total: number; readonly cached: number } | undefined;
  #pieces = 0;
  #characters = 0;
  #outputTokens: number | undefined;
  #timings: Fields = {};
  #finish = "";

  take(piece: Fields): readonly EngineEvent[] {
    this.#count(piece);
    const choice = fieldsOf(listOf(piece["choices"])[0]);
    this.#finish = textOf(choice["finish_reason"]) || this.#finish;
    const events = this.#read(choice);
    if (events.length === 0) return events;
    this.#firstAt ??= performance.now();
    this.#pieces += 1;
    for (const event of events) this.#characters += charactersOf(event);
    return [...this.#tellPrompt(), ...events];
  }

  /**
   * As many as there must be. Without a count of the engine's a piece is a token, or several, or a character of one
   * where a proxy cut it up; no token has hundreds of characters.
   */
  leastTokens(): number {
    const [pieces, characters] = [this.#pieces, this.#characters];
    return Math.max(this.#outputTokens ?? 0, Math.min(pieces, characters / 4), pieces / 8, characters / 256);
  }

  end(): EngineEvent {
    if (givenUp.has(this.#finish)) throw new WireError({ kind: "cut-off" });
    return this.endBy(this.#finish === "length" ? "length" : "stop");
  }

  endBy(reason: EndReason): EngineEvent {
    const now = performance.now();
    const firstAt = this.#firstAt ?? now;
    const { prompt_ms: promptTime, predicted_ms: outputTime } = this.#timings;
    return {
      type: "generation-end",
      reason,
      usage: {
        promptTokens: this.#prompt?.total ?? 0,
        cachedTokens: this.#prompt?.cached ?? 0,
        outputTokens: this.#outputTokens ?? this.#pieces,
      },
      timings: {
        promptMilliseconds: typeof promptTime === "number" ? promptTime : firstAt - this.#startedAt,
        outputMilliseconds: typeof outputTime === "number" ? outputTime : now - firstAt,
      },
    };
  }

  #count(piece: Fields): void {
    const progress = fieldsOf(piece["prompt_progress"]);
    const total = countOf(progress["total"]);
    if (total !== undefined) this.#prompt = { total, cached: countOf(progress["cache"]) ?? 0 };
    const usage = fieldsOf(piece["usage"]);
    const timings = fieldsOf(piece["timings"]);
    if (countOf(timings["prompt_n"]) !== undefined) this.#timings = timings;
    const read = countOf(usage["prompt_tokens"]);
    if (read === undefined) return;
    const details = fieldsOf(usage["prompt_tokens_details"]);
    const cached = countOf(details["cached_tokens"]) ?? countOf(timings["cache_n"]);
    this.#prompt = { total: read, cached: cached ?? this.#prompt?.cached ?? 0 };
    this.#outputTokens = countOf(usage["completion_tokens"]) ?? this.#outputTokens;
  }

  /** Once, with the first piece of the answer: until then the request may still go to another engine. */
  #tellPrompt(): readonly EngineEvent[] {
    if (this.#hasToldPrompt || this.#prompt === undefined) return [];
    this.#hasToldPrompt = true;
    const { total, cached } = this.#prompt;
    return [{ type: "prompt-progress", evaluated: total, total, cached }];
  }

  #read(choice: Fields): readonly EngineEvent[] {
    const delta = Object.hasOwn(choice, "delta") ? fieldsOf(choice["delta"]) : choice;
    const thought = textOf(delta["reasoning_content"]) || textOf(delta["reasoning"]);
    const text = textOf(delta["content"]) || textOf(delta["text"]);
    const tokens = readProbabilities(choice["logprobs"]);
    return [
      ...(thought === "" ? [] : [{ type: "reasoning-delta", text: thought } as const]),
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
