import type {
  Engine,
  EngineEvent,
  EngineFailure,
  EngineRequest,
  GenerationEnd,
} from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import type { Lease } from "../scheduling/load-request.ts";

/** Waits for a lease on a model with at least this much context. */
export type AcquireLarger = (neededTokens: number) => Promise<Lease>;

/** Free context that a prompt must leave before a larger one is loaded; the output may still need more later. */
const outputReserve = 2048;
/** Under a grammar, the output must fit as a whole: the engine cannot go on in the middle of it. */
const constrainedReserve = 16_384;

/**
 * A lease that is replaced by one with a larger context when the prompt or the output outgrows the loaded one. A request
 * may thus use its whole window, although most of it is not in memory until somebody needs it.
 */
export class GrowingLease implements Disposable {
  readonly engine: Engine;
  readonly #acquire: AcquireLarger;
  #current: Lease;

  constructor(first: Lease, acquire: AcquireLarger) {
    this.#current = first;
    this.#acquire = acquire;
    this.engine = this.#createEngine();
  }

  get current(): Lease {
    return this.#current;
  }

  [Symbol.dispose](): void {
    this.#current[Symbol.dispose]();
  }

  #createEngine(): Engine {
    const engine = (): Engine => this.#current.engine;
    return {
      describe: () => engine().describe(),
      generate: (request, signal) => this.#generate(request, signal),
      embed: (request, signal) => engine().embed(request, signal),
      rank: (query, documents, signal) => engine().rank(query, documents, signal),
      tokenize: (text, signal) => engine().tokenize(text, signal),
      render: (conversation) => engine().render(conversation),
      count: (conversation, signal) => engine().count(conversation, signal),
      unload: () => engine().unload(),
      get closed() {
        return engine().closed;
      },
      [Symbol.asyncDispose]: () => engine()[Symbol.asyncDispose](),
    };
  }

  async *#generate(request: EngineRequest, signal: AbortSignal): AsyncGenerator<EngineEvent> {
    let written: Written = { text: "", end: undefined };
    for (;;) {
      const events = this.#generateOnCurrent(await this.#continuation(request, written), signal);
      const next = yield* passOn(events, { request, written, lease: this.#current });
      if (next.type === "end") return;
      if (next.type === "full") written = next.written;
      await this.#grow(next.neededTokens);
    }
  }

  async #grow(neededTokens: number): Promise<void> {
    // Released first: the model may have to be idle before it can be loaded again.
    this.#current[Symbol.dispose]();
    this.#current = await this.#acquire(neededTokens);
  }

  #generateOnCurrent(request: EngineRequest, signal: AbortSignal): AsyncIterable<EngineEvent> {
    const { engine, window } = this.#current;
    const reservedTokens = canGrow(this.#current) ? reserveFor(request) : 1;
    return engine.generate({ ...request, contextTokens: window.tokens, reservedTokens }, signal);
  }

  /** The request, or one that goes on after what was written already. */
  async #continuation(request: EngineRequest, { text, end }: Written): Promise<EngineRequest> {
    const { input, maxTokens } = request;
    if (end === undefined || input.type === "fill-in-the-middle") return request;
    const prompt =
      input.type === "raw" ? input.prompt : await this.#current.engine.render(input.conversation);
    const remainingTokens = maxTokens - end.usage.outputTokens;
    return { ...request, input: { type: "raw", prompt: prompt + text }, maxTokens: remainingTokens };
  }
}

/** What was written before the context was full. */
type Written = { readonly text: string; readonly end: GenerationEnd | undefined };

type Pass = { readonly request: EngineRequest; readonly written: Written; readonly lease: Lease };

type NextStep =
  | { readonly type: "end" }
  | { readonly type: "prompt-too-long"; readonly neededTokens: number }
  | { readonly type: "full"; readonly neededTokens: number; readonly written: Written };

/** Passes events on until the generation ends, or needs more context than is loaded. */
async function* passOn(
  events: AsyncIterable<EngineEvent>,
  { request, written, lease }: Pass,
): AsyncGenerator<EngineEvent, NextStep> {
  let { text } = written;
  const count = countTokens(lease);
  try {
    for await (const event of events) {
      count(event);
      if (event.type === "text-delta") text += event.text;
      if (event.type === "generation-end") {
        const end = addUsage(written.end, event);
        if (!canGrow(lease) || !isFull(request, end)) {
          yield end;
          return { type: "end" };
        }
        const neededTokens = event.usage.promptTokens + event.usage.outputTokens + reserveFor(request);
        return { type: "full", neededTokens, written: { text, end } };
      }
      // The rest of the response has no prompt of its own.
      if (event.type !== "prompt-progress" || written.end === undefined) yield addTokens(written.end, event);
    }
  } catch (error) {
    const failure = promptTooLong(error);
    if (failure === undefined || !isOutgrown(lease, failure)) throw explain(error, failure, lease);
    return { type: "prompt-too-long", neededTokens: failure.promptTokens + reserveFor(request) };
  }
  return { type: "end" };
}

/** Counts the tokens of one generation on its lease as they come; its end has the exact numbers. */
function countTokens({ addTokens: add, measure }: Lease): (event: EngineEvent) => void {
  let prompt = 0;
  let output = 0;
  const reach = (promptTokens: number, outputTokens: number): void => {
    if (promptTokens !== prompt || outputTokens !== output) add(promptTokens - prompt, outputTokens - output);
    prompt = promptTokens;
    output = outputTokens;
  };
  return (event) => {
    if (event.type === "prompt-progress") reach(event.total - event.cached, output);
    else if (event.type === "text-delta") reach(prompt, event.outputTokens ?? output + 1);
    else if (event.type !== "generation-end") reach(prompt, output + 1);
    else {
      reach(event.usage.promptTokens - event.usage.cachedTokens, event.usage.outputTokens);
      measure(event.usage, event.timings);
    }
  };
}

function reserveFor({ constraint, maxTokens }: EngineRequest): number {
  const enough = constraint === undefined ? outputReserve : constrainedReserve;
  return Math.max(1, Math.min(enough, maxTokens));
}

/** Whether the end of the loaded context ended the output, and it can go on with more. */
function isFull({ maxTokens, constraint, input }: EngineRequest, { reason, usage }: GenerationEnd): boolean {
  if (reason !== "length" || usage.outputTokens >= maxTokens || constraint !== undefined) return false;
  if (input.type !== "conversation") return input.type === "raw";
  return input.conversation.messages.every(
    (message) => message.role !== "user" || !(message.images?.length || message.audio?.length),
  );
}

function addTokens(end: GenerationEnd | undefined, event: EngineEvent): EngineEvent {
  if (end === undefined || event.type !== "text-delta" || event.outputTokens === undefined) return event;
  return { ...event, outputTokens: event.outputTokens + end.usage.outputTokens };
}

function addUsage(first: GenerationEnd | undefined, last: GenerationEnd): GenerationEnd {
  if (first === undefined) return last;
  const { usage, timings } = first;
  return {
    ...last,
    usage: { ...usage, outputTokens: usage.outputTokens + last.usage.outputTokens },
    timings: {
      promptMilliseconds: timings.promptMilliseconds,
      outputMilliseconds:
        timings.outputMilliseconds + last.timings.promptMilliseconds + last.timings.outputMilliseconds,
    },
  };
}

type PromptTooLong = Extract<EngineFailure, { kind: "prompt-too-long" }>;

function promptTooLong(error: unknown): PromptTooLong | undefined {
  if (!(error instanceof FailureError)) return undefined;
  // Engines throw failures of the union only.
  const failure = error.failure as EngineFailure;
  return failure.kind === "prompt-too-long" ? failure : undefined;
}

function canGrow({ contextTokens, window }: Lease): boolean {
  return contextTokens < window.tokens;
}

function isOutgrown(lease: Lease, { promptTokens }: PromptTooLong): boolean {
  return canGrow(lease) && promptTokens < lease.window.tokens;
}

/** Names the window and what limits it, whatever is loaded; a remote engine may know that it has less. */
function explain(error: unknown, failure: PromptTooLong | undefined, lease: Lease): unknown {
  const { tokens, limitedBy } = lease.window;
  if (failure === undefined || (failure.contextTokens < tokens && !canGrow(lease))) return error;
  return new FailureError<EngineFailure>({ ...failure, contextTokens: tokens, limitedBy }, { cause: error });
}
