import type { EngineEvent, GenerationEnd, Usage } from "@hearth-and-keep/llama-engine";
import type { GenerationEvent } from "./events.ts";
import type { AnswerEvent } from "./splitting/split-events.ts";
import { isJsonObject, parseJson } from "./tool-calls/call-writer.ts";

type EndByUs =
  | { readonly reason: "stop-sequence"; readonly stopSequence: string }
  | { readonly reason: "tool-calls" };
type GenerationEndEvent = Extract<GenerationEvent, { type: "generation-end" }>;

/** Counts one answer from both sides, what the engine wrote and what it turned out to be, and writes its end. */
export class AnswerMeter {
  readonly #countTokens: (text: string) => Promise<number>;
  readonly #startedAt = performance.now();
  #firstTextAt: number | undefined;
  #written = "";
  #outputTokens: number | undefined;
  #thought = "";
  #prompt = { promptTokens: 0, cachedTokens: 0 };
  #wholeCalls = 0;

  constructor(countTokens: (text: string) => Promise<number>) {
    this.#countTokens = countTokens;
  }

  get wholeCalls(): number {
    return this.#wholeCalls;
  }

  /** Passes the engine's events on. */
  async *watch(events: AsyncIterable<EngineEvent>, signal: AbortSignal): AsyncGenerator<EngineEvent> {
    for await (const event of events) {
      signal.throwIfAborted();
      if (event.type === "prompt-progress") {
        this.#prompt = { promptTokens: event.total, cachedTokens: event.cached };
      }
      if (event.type === "text-delta") {
        this.#firstTextAt ??= performance.now();
        this.#written += event.text;
        this.#outputTokens = event.outputTokens ?? this.#outputTokens;
      }
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
    const now = performance.now();
    const firstTextAt = this.#firstTextAt ?? now;
    const outputTokens = this.#outputTokens ?? (await this.#countTokens(this.#written));
    return {
      type: "generation-end",
      ...why,
      usage: await this.#withReasoning({ ...this.#prompt, outputTokens }),
      timings: {
        promptMilliseconds: firstTextAt - this.#startedAt,
        outputMilliseconds: now - firstTextAt,
      },
    };
  }

  async #withReasoning(usage: Usage): Promise<GenerationEndEvent["usage"]> {
    const counted = this.#thought === "" ? 0 : await this.#countTokens(this.#thought);
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
