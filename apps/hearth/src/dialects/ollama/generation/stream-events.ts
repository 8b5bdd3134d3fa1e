import type { JsonObject, TokenProbability } from "@hearth-and-keep/engine";
import type { GenerationEvent } from "../../../generation/events.ts";
import type { GenerationRequest } from "../../../generation/request.ts";
import { durationField } from "../duration-field.ts";

/** What differs between chat and generate. */
export type ResponseOptions = {
  /** The model's name as it appears in the request. */
  readonly requestedName: string;
  readonly generation: GenerationRequest;
  readonly isStreamed: boolean;
  readonly writeOutput: (chunk: OutputChunk) => Readonly<Record<string, unknown>>;
  /** Additional fields of the last object, from the complete output. */
  readonly writeEnd?: (output: OutputChunk) => Readonly<Record<string, unknown>>;
};

/** Part of the output, or all of it. */
export type OutputChunk = {
  readonly text: string;
  readonly thinking: string;
  readonly toolCalls: readonly WireToolCall[];
  readonly tokens: readonly TokenProbability[];
};

type WireToolCall = {
  readonly id: string;
  readonly function: { readonly index: number; readonly name: string; readonly arguments: JsonObject };
};

/** The number of oldest messages that were dropped because they did not fit into the context. */
const truncatedHeader = "x-context-truncated";

const emptyChunk: OutputChunk = { text: "", thinking: "", toolCalls: [], tokens: [] };

/** The objects of a response. Without streaming, only the last one. Sets `headers` before the first object. */
export async function* streamEvents(
  events: AsyncIterable<GenerationEvent>,
  options: ResponseOptions,
  headers: Record<string, string>,
): AsyncGenerator {
  const startedAt = performance.now();
  const reader = new ChunkReader();
  let loadMilliseconds = 0;
  for await (const event of events) {
    if (event.type === "generation-start") {
      ({ loadMilliseconds } = event);
      if (event.droppedMessages > 0) headers[truncatedHeader] = String(event.droppedMessages);
    }
    if (event.type === "generation-end") {
      const totalMilliseconds = performance.now() - startedAt;
      yield writeLast(reader.output(), options, { ...event, totalMilliseconds, loadMilliseconds });
    }
    const chunk = reader.read(event);
    if (chunk !== undefined && options.isStreamed) yield writeChunk(chunk, options);
  }
}

/** Translates generation events into output chunks, and accumulates them. */
class ChunkReader {
  readonly #openCalls = new Map<number, { readonly id: string; readonly name: string }>();
  readonly #chunks: OutputChunk[] = [];

  /** Undefined for an event without output. */
  read(event: GenerationEvent): OutputChunk | undefined {
    const chunk = this.#translate(event);
    if (chunk !== undefined) this.#chunks.push(chunk);
    return chunk;
  }

  /** The complete output so far. */
  output(): OutputChunk {
    return {
      text: this.#chunks.map(({ text }) => text).join(""),
      thinking: this.#chunks.map(({ thinking }) => thinking).join(""),
      toolCalls: this.#chunks.flatMap(({ toolCalls }) => toolCalls),
      tokens: this.#chunks.flatMap(({ tokens }) => tokens),
    };
  }

  #translate(event: GenerationEvent): OutputChunk | undefined {
    switch (event.type) {
      case "text-delta":
        return { ...emptyChunk, text: event.text, tokens: event.tokens ?? [] };
      case "reasoning-delta":
        return { ...emptyChunk, thinking: event.text };
      case "tool-call-start":
        this.#openCalls.set(event.index, event);
        return undefined;
      case "tool-call-end":
        return { ...emptyChunk, toolCalls: [this.#endCall(event)] };
      case "generation-start":
      case "prompt-progress":
      case "tool-call-delta":
      // An incomplete call is dropped; `done_reason` reports it.
      case "tool-call-fail":
      case "generation-end":
        return undefined;
    }
  }

  /** Ollama sends complete tool calls only. */
  #endCall({ index, arguments: callArguments }: { index: number; arguments: JsonObject }): WireToolCall {
    const { id = "", name = "" } = this.#openCalls.get(index) ?? {};
    return { id, function: { index, name, arguments: callArguments } };
  }
}

function writeChunk(chunk: OutputChunk, options: ResponseOptions): unknown {
  return { ...writeHead(chunk, options), done: false, ...writeLogprobs(chunk, options) };
}

function writeHead(chunk: OutputChunk, { requestedName, writeOutput }: ResponseOptions) {
  return { model: requestedName, created_at: new Date().toISOString(), ...writeOutput(chunk) };
}

type GenerationEnd = Extract<GenerationEvent, { type: "generation-end" }> & {
  readonly totalMilliseconds: number;
  readonly loadMilliseconds: number;
};

/** When streaming, the last object has no output, only statistics. Otherwise it has the complete output. */
function writeLast(output: OutputChunk, options: ResponseOptions, end: GenerationEnd): unknown {
  const chunk = options.isStreamed ? emptyChunk : output;
  return {
    ...writeHead(chunk, options),
    done: true,
    done_reason: end.reason === "length" ? "length" : "stop",
    ...options.writeEnd?.(output),
    ...writeLogprobs(chunk, options),
    ...writeStatistics(end),
  };
}

function writeStatistics({ usage, timings, totalMilliseconds, loadMilliseconds }: GenerationEnd) {
  return {
    ...durationField("total_duration", totalMilliseconds),
    ...durationField("load_duration", loadMilliseconds),
    prompt_eval_count: usage.promptTokens,
    prompt_eval_cached_count: usage.cachedTokens,
    ...durationField("prompt_eval_duration", timings.promptMilliseconds),
    eval_count: usage.outputTokens,
    ...durationField("eval_duration", timings.outputMilliseconds),
  };
}

function writeLogprobs({ tokens }: OutputChunk, { generation }: ResponseOptions) {
  const { logProbabilities: alternatives } = generation;
  if (alternatives === undefined || tokens.length === 0) return {};
  return {
    logprobs: tokens.map((token) => ({
      ...writeToken(token),
      ...(alternatives === 0 ? {} : { top_logprobs: token.alternatives.map(writeToken) }),
    })),
  };
}

/** JSON has no infinity, which is the value for tokens that a grammar forbids. */
const minLogProbability = -9999;

function writeToken({ text, logProbability }: Pick<TokenProbability, "text" | "logProbability">) {
  return {
    token: text,
    logprob: Math.max(logProbability, minLogProbability),
    bytes: [...Buffer.from(text)],
  };
}
