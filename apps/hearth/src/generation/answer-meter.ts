import type { EngineEvent, GenerationEnd, Timings, Usage } from "@hearth-and-keep/engine";
import { estimateTokens } from "./estimate-tokens.ts";
import type { GenerationEvent } from "./events.ts";
import type { AnswerEvent } from "./splitting/split-events.ts";
import { isJsonObject, parseJson } from "./tool-calls/call-writer.ts";

export type AnswerParts = {
  readonly signal: AbortSignal;
  /** The engine's own count, for what the engine does not count: thinking, and an answer we ended ourselves. */
  readonly countTokens: (text: string, signal: AbortSignal) => Promise<number>;
};

type EndByUs =
  | { readonly reason: "stop-sequence"; readonly stopSequence: string }
  | { readonly reason: "tool-calls" };
type GenerationEndEvent = Extract<GenerationEvent, { type: "generation-end" }>;

/** How long the end of an answer waits for a figure. */
const countMilliseconds = 2000;

/** Counts one answer from both sides, what the engine wrote and what it turned out to be, and writes its end. */
export class AnswerMeter {
  readonly #parts: AnswerParts;
  readonly #startedAt = performance.now();
  #firstTextAt: number | undefined;
  #written = "";
  #outputTokens: number | undefined;
  #thought = "";
  #prompt = { promptTokens: 0, cachedTokens: 0 };
  #wholeCalls = 0;

  constructor(parts: AnswerParts) {
    this.#parts = parts;
  }

  get wholeCalls(): number {
    return this.#wholeCalls;
  }

  /** Passes the engine's events on. */
  async *watch(events: AsyncIterable<EngineEvent>): AsyncGenerator<EngineEvent> {
    const { signal } = this.#parts;
    for await (const event of events) {
      signal.throwIfAborted();
      this.#count(event);
      yield event;
    }
  }

  /** Passes the answer's events on; a call that its driver began is ended when its arguments are complete. */
  async *closeCalls(events: AsyncIterable<AnswerEvent>): AsyncGenerator<AnswerEvent> {
    let open: { readonly index: number; text: string } | undefined;
    for await (const event of events) {
      if (event.type === "reasoning-delta") this.#thought += event.text;
      if (event.type === "tool-call-end") this.#wholeCalls += 1;
      if (event.type === "tool-call-end" || event.type === "tool-call-fail") open = undefined;
      if (open !== undefined && (event.type === "tool-call-start" || event.type === "generation-end")) {
        yield this.#closeCall(open, event);
        open = undefined;
      }
      if (event.type === "tool-call-start") open = { index: event.index, text: "" };
      if (event.type === "tool-call-delta" && open !== undefined) open.text += event.argumentsText;
      yield event;
    }
  }

  async endByEngine({ reason, usage, timings }: GenerationEnd): Promise<GenerationEndEvent> {
    const isForCalls = reason === "stop" && this.#wholeCalls > 0;
    return {
      type: "generation-end",
      reason: isForCalls ? "tool-calls" : reason,
      usage: await this.#withReasoning(usage),
      timings,
    };
  }

  /** The engine did not come to its end, so its figures are taken here. */
  async endByUs(why: EndByUs): Promise<GenerationEndEvent> {
    const timings = this.#timings();
    const outputTokens = this.#outputTokens ?? (await this.#tokensOf(this.#written));
    const usage = await this.#withReasoning({ ...this.#prompt, outputTokens });
    return { type: "generation-end", ...why, usage, timings };
  }

  #count(event: EngineEvent): void {
    if (event.type === "prompt-progress") {
      this.#prompt = { promptTokens: event.total, cachedTokens: event.cached };
      return;
    }
    if (event.type === "generation-end" || event.type === "tool-call-start") return;
    this.#firstTextAt ??= performance.now();
    this.#written += event.type === "tool-call-delta" ? event.argumentsText : event.text;
    if (event.type === "text-delta") this.#outputTokens = event.outputTokens ?? this.#outputTokens;
  }

  #timings(): Timings {
    const now = performance.now();
    const firstTextAt = this.#firstTextAt ?? now;
    return { promptMilliseconds: firstTextAt - this.#startedAt, outputMilliseconds: now - firstTextAt };
  }

  /** An answer never fails because of a figure: when the engine does not tell, it is estimated. */
  async #tokensOf(text: string): Promise<number> {
    const { signal, countTokens } = this.#parts;
    try {
      return await countTokens(text, AbortSignal.any([signal, AbortSignal.timeout(countMilliseconds)]));
    } catch {
      signal.throwIfAborted();
      return estimateTokens(text);
    }
  }

  async #withReasoning(usage: Usage): Promise<GenerationEndEvent["usage"]> {
    const counted = this.#thought === "" ? 0 : await this.#tokensOf(this.#thought);
    // Counted alone, a text can have a token more than it had within the answer.
    return { ...usage, reasoningTokens: Math.min(counted, usage.outputTokens) };
  }

  #closeCall({ index, text }: { index: number; text: string }, next: AnswerEvent): AnswerEvent {
    const parsed = text === "" ? {} : parseJson(text);
    if (isJsonObject(parsed)) {
      this.#wholeCalls += 1;
      return { type: "tool-call-end", index, arguments: parsed };
    }
    const isCut = next.type === "generation-end" && next.reason === "length";
    return { type: "tool-call-fail", index, reason: isCut ? "unfinished" : "malformed", text };
  }
}
