import type { EngineEvent, GenerationEnd, Timings, Usage } from "@hearth-and-keep/engine";
import { estimateTokens } from "./estimate-tokens.ts";
import type { OutputEvent } from "./events.ts";
import type { SplitEvent } from "./stream-parser/split-events.ts";

export type OutputMeterOptions = {
  readonly signal: AbortSignal;
  /** The engine's tokenizer, for counts the engine does not report: thinking, and output that Hearth stopped early. */
  readonly countTokens: (text: string, signal: AbortSignal) => Promise<number>;
};

type EarlyEnd =
  | { readonly reason: "stop-sequence"; readonly stopSequence: string }
  | { readonly reason: "tool-calls" };
type GenerationEndEvent = Extract<OutputEvent, { type: "generation-end" }>;

/** How long the end of a generation waits for a token count. */
const countTimeoutMilliseconds = 2000;

/** Measures one generation, both the engine's raw output and the parsed events, and creates its last event. */
export class OutputMeter {
  readonly #options: OutputMeterOptions;
  readonly #startedAt = performance.now();
  #firstTextAt: number | undefined;
  #rawText = "";
  #outputTokens: number | undefined;
  #reasoningText = "";
  #promptUsage = { promptTokens: 0, cachedTokens: 0 };
  #completeCalls = 0;

  constructor(options: OutputMeterOptions) {
    this.#options = options;
  }

  get completeCalls(): number {
    return this.#completeCalls;
  }

  /** Passes the engine's events through. */
  async *watch(events: AsyncIterable<EngineEvent>): AsyncGenerator<EngineEvent> {
    const { signal } = this.#options;
    for await (const event of events) {
      signal.throwIfAborted();
      this.#measure(event);
      yield event;
    }
  }

  /** Passes parsed events through. */
  async *watchParsed(events: AsyncIterable<SplitEvent>): AsyncGenerator<SplitEvent> {
    for await (const event of events) {
      if (event.type === "reasoning-delta") this.#reasoningText += event.text;
      if (event.type === "tool-call-end") this.#completeCalls += 1;
      yield event;
    }
  }

  async endByEngine({ reason, usage, timings }: GenerationEnd): Promise<GenerationEndEvent> {
    const endsWithCalls = reason === "stop" && this.#completeCalls > 0;
    return {
      type: "generation-end",
      reason: endsWithCalls ? "tool-calls" : reason,
      usage: await this.#withReasoning(usage),
      timings,
    };
  }

  /** Ends before the engine does, so usage and timings are measured here. */
  async endEarly(end: EarlyEnd): Promise<GenerationEndEvent> {
    const timings = this.#timings();
    const outputTokens = this.#outputTokens ?? (await this.#countTokens(this.#rawText));
    const usage = await this.#withReasoning({ ...this.#promptUsage, outputTokens });
    // Clients run calls only if the reason says that there are any.
    const actual: EarlyEnd = this.#completeCalls > 0 ? { reason: "tool-calls" } : end;
    return { type: "generation-end", ...actual, usage, timings };
  }

  #measure(event: EngineEvent): void {
    if (event.type === "prompt-progress") {
      this.#promptUsage = { promptTokens: event.total, cachedTokens: event.cached };
      return;
    }
    if (event.type === "generation-end" || event.type === "tool-call-start") return;
    this.#firstTextAt ??= performance.now();
    this.#rawText += event.type === "tool-call-delta" ? event.argumentsText : event.text;
    if (event.type === "text-delta") this.#outputTokens = event.outputTokens ?? this.#outputTokens;
  }

  #timings(): Timings {
    const now = performance.now();
    const firstTextAt = this.#firstTextAt ?? now;
    return { promptMilliseconds: firstTextAt - this.#startedAt, outputMilliseconds: now - firstTextAt };
  }

  /** Falls back to an estimate: a failed count must not fail the request. */
  async #countTokens(text: string): Promise<number> {
    const { signal, countTokens } = this.#options;
    try {
      return await countTokens(
        text,
        AbortSignal.any([signal, AbortSignal.timeout(countTimeoutMilliseconds)]),
      );
    } catch {
      signal.throwIfAborted();
      return estimateTokens(text);
    }
  }

  async #withReasoning(usage: Usage): Promise<GenerationEndEvent["usage"]> {
    const counted = this.#reasoningText === "" ? 0 : await this.#countTokens(this.#reasoningText);
    // Tokenized on its own, the text can have one token more than within the output.
    return { ...usage, reasoningTokens: Math.min(counted, usage.outputTokens) };
  }
}
