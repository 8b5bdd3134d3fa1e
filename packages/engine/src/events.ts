/** What comes out of an engine while it generates, in order; `generation-end` comes once and last. */
export type EngineEvent =
  | {
      readonly type: "prompt-progress";
      readonly evaluated: number;
      readonly total: number;
      readonly cached: number;
    }
  | TextDelta
  /** The following three come from drivers that split the answer themselves. */
  | { readonly type: "reasoning-delta"; readonly text: string }
  | { readonly type: "tool-call-start"; readonly index: number; readonly id: string; readonly name: string }
  | { readonly type: "tool-call-delta"; readonly index: number; readonly argumentsText: string }
  | GenerationEnd;

export type TextDelta = {
  readonly type: "text-delta";
  /** Whole characters only: bytes of an unfinished one are held back. */
  readonly text: string;
  /** How many tokens the answer has had so far, when the driver knows: an answer we end ourselves is counted by it. */
  readonly outputTokens?: number;
  /** The tokens behind the text, when log-probabilities were asked for. */
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

/** `stop`: the model ended its turn. `length`: the limit of tokens or the context was reached. */
export type EndReason = "stop" | "length";

export type Usage = {
  readonly promptTokens: number;
  /** Of the prompt's tokens, those that were still in the cache and cost nothing. */
  readonly cachedTokens: number;
  readonly outputTokens: number;
};

export type Timings = { readonly promptMilliseconds: number; readonly outputMilliseconds: number };
