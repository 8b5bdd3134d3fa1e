/** The events an engine emits while it generates, in order; `generation-end` is emitted once and last. */
export type EngineEvent =
  | {
      readonly type: "prompt-progress";
      readonly evaluated: number;
      readonly total: number;
      readonly cached: number;
    }
  | TextDelta
  /** The following three are emitted only by drivers that parse the model's output themselves. */
  | { readonly type: "reasoning-delta"; readonly text: string }
  | { readonly type: "tool-call-start"; readonly index: number; readonly id: string; readonly name: string }
  | { readonly type: "tool-call-delta"; readonly index: number; readonly argumentsText: string }
  | GenerationEnd;

export type TextDelta = {
  readonly type: "text-delta";
  /** Complete characters only: the bytes of an incomplete one are held back. */
  readonly text: string;
  /** Output tokens so far, if the driver counts them. Needed when Hearth stops the generation itself. */
  readonly outputTokens?: number;
  /** The tokens of this text, if log-probabilities were requested. */
  readonly tokens?: readonly TokenProbability[];
};

export type TokenProbability = {
  readonly token: number;
  readonly text: string;
  readonly logProbability: number;
  readonly alternatives: readonly {
    readonly token: number;
    readonly text: string;
    readonly logProbability: number;
  }[];
};

export type GenerationEnd = {
  readonly type: "generation-end";
  readonly reason: EndReason;
  readonly usage: Usage;
  readonly timings: Timings;
};

/** `stop`: the model ended its turn. `length`: the token limit or the end of the context was reached. */
export type EndReason = "stop" | "length";

export type Usage = {
  readonly promptTokens: number;
  /** Prompt tokens that were reused from the cache. */
  readonly cachedTokens: number;
  readonly outputTokens: number;
  /** Output tokens that were guessed ahead, and those of them that the model chose itself. Absent without guesses. */
  readonly guessedTokens?: number;
  readonly acceptedTokens?: number;
};

export type Timings = { readonly promptMilliseconds: number; readonly outputMilliseconds: number };
