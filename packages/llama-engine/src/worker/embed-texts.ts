import { fitText } from "@hearth-and-keep/chat-templates";
import type { EmbedRequest, EngineFailure } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import type { LlamaEmbeddingContext, LlamaModel, Token } from "node-llama-cpp";
import type { CallResults } from "../channel/schema.ts";
import { encodeVector } from "../channel/vectors.ts";

export type EmbedContext = {
  readonly model: LlamaModel;
  /** A context for so many tokens. */
  readonly contextFor: (tokens: number) => Promise<LlamaEmbeddingContext>;
  readonly signal: AbortSignal;
  /** The most that a text may have. */
  readonly contextTokens: number;
};

/** Embeds texts one by one and checks the signal between them. */
export async function embedTexts(
  { texts, truncates }: EmbedRequest,
  { model, contextFor, signal, contextTokens }: EmbedContext,
): Promise<CallResults["embed"]> {
  const vectors: string[] = [];
  let tokens = 0;
  for (const text of texts) {
    signal.throwIfAborted();
    const input = fitText(model.tokenize(text), { truncates, contextTokens });
    const context = await contextFor(input.length + surroundingTokens);
    const { vector } = await context.getEmbeddingFor(input.length === 0 ? emptyText(model) : input);
    vectors.push(encodeVector(Float32Array.from(vector)));
    tokens += input.length;
  }
  return { vectors, tokens };
}

/** The binding adds a token before and after a text, and needs one more than it uses. */
const surroundingTokens = 3;

/** The binding has no vector for no tokens; the model has one for what surrounds every text. */
function emptyText({ tokens }: LlamaModel): Token[] {
  return [tokens.bos ?? tokens.eos ?? tokens.nl].filter((token) => token !== null);
}

/** Enough for a paragraph; longer texts get a context of twice the size, or more. */
const minContextTokens = 512;
/** How long the context stays after the last text. The scheduler counts its memory a little longer. */
const idleSeconds = 30;

type EmbeddingModel = { readonly model: LlamaModel; readonly threads: () => number };

/**
 * Embeds with a model that was loaded to generate. Its context cannot, so there is a second one beside it, which is only
 * as large as the texts need, and is freed when no more texts come. Requests run one after another.
 */
export class TemporaryEmbedder {
  readonly #loaded: EmbeddingModel;
  #context: LlamaEmbeddingContext | undefined;
  #contextTokens = 0;
  #last: Promise<unknown> = Promise.resolve();
  #idleTimer: NodeJS.Timeout | undefined;

  constructor(loaded: EmbeddingModel) {
    this.#loaded = loaded;
  }

  embed(request: EmbedRequest, signal: AbortSignal): Promise<CallResults["embed"]> {
    clearTimeout(this.#idleTimer);
    const { model } = this.#loaded;
    const contextTokens = Math.min(model.trainContextSize, request.contextTokens ?? model.trainContextSize);
    const contextFor = (tokens: number): Promise<LlamaEmbeddingContext> =>
      this.#contextFor(tokens, contextTokens);
    const embedded = this.#last.then(() => embedTexts(request, { model, contextFor, signal, contextTokens }));
    const ended = embedded
      .catch(() => undefined)
      .finally(() => {
        if (this.#last === ended) this.#freeLater();
      });
    this.#last = ended;
    return embedded;
  }

  async #contextFor(tokens: number, maxTokens: number): Promise<LlamaEmbeddingContext> {
    if (this.#context !== undefined && tokens <= this.#contextTokens) return this.#context;
    let contextTokens = minContextTokens;
    while (contextTokens < tokens) contextTokens *= 2;
    await this.#free();
    this.#contextTokens = Math.max(tokens, Math.min(contextTokens, maxTokens));
    const { model, threads } = this.#loaded;
    const size = { contextSize: this.#contextTokens, threads: threads() };
    try {
      this.#context = await model.createEmbeddingContext(size);
      return this.#context;
    } catch (error) {
      // With these options, memory is the only reason.
      throw new FailureError<EngineFailure>(
        { kind: "insufficient-memory", neededBytes: null },
        { cause: error },
      );
    }
  }

  #freeLater(): void {
    clearTimeout(this.#idleTimer);
    this.#idleTimer = setTimeout(() => {
      this.#last = this.#last.then(() => this.#free()).catch(() => undefined);
    }, idleSeconds * 1000);
  }

  async #free(): Promise<void> {
    const context = this.#context;
    this.#context = undefined;
    this.#contextTokens = 0;
    await context?.dispose();
  }
}
