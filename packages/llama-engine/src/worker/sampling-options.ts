import type { Sampling } from "@hearth-and-keep/engine";
import {
  type Llama,
  LlamaGrammar,
  LlamaGrammarEvaluationState,
  type LlamaModel,
  type SequenceEvaluateOptions,
  type Token,
  TokenBias,
} from "node-llama-cpp";

export type SamplerContext = {
  readonly llama: Llama;
  readonly model: LlamaModel;
  /** Validated GBNF. */
  readonly grammar: string | undefined;
  /** The tokens of the prompt and the output so far; penalties apply to the last of them. */
  readonly history: readonly Token[];
};

/** Translates the port's sampling options for the binding. */
export function samplingOptions(sampling: Sampling, context: SamplerContext): SequenceEvaluateOptions {
  return {
    temperature: sampling.temperature,
    topK: sampling.topK,
    topP: sampling.topP,
    minP: sampling.minP,
    seed: sampling.seed,
    ...penaltyOptions(sampling, context.history),
    ...(sampling.logitBias.size === 0 ? {} : { tokenBias: createTokenBias(sampling, context.model) }),
    ...(context.grammar === undefined
      ? {}
      : { grammarEvaluationState: createGrammarState(context.grammar, context) }),
  };
}

function penaltyOptions(
  sampling: Sampling,
  history: readonly Token[],
): Pick<SequenceEvaluateOptions, "repeatPenalty"> {
  const { repeatPenalty, repeatLastTokens, frequencyPenalty, presencePenalty } = sampling;
  const isOff = repeatPenalty === 1 && frequencyPenalty === 0 && presencePenalty === 0;
  if (isOff || repeatLastTokens === 0) return {};
  return {
    repeatPenalty: {
      punishTokens: () => history.slice(-repeatLastTokens),
      maxPunishTokens: repeatLastTokens,
      penalty: repeatPenalty,
      frequencyPenalty,
      presencePenalty,
    },
  };
}

function createTokenBias({ logitBias }: Sampling, model: LlamaModel): TokenBias {
  const bias = TokenBias.for(model);
  for (const [token, logit] of logitBias) {
    // The binding brands its token ids; those above the vocabulary are rejected before the request gets here.
    bias.set(token as Token, logit === Number.NEGATIVE_INFINITY ? "never" : { logit });
  }
  return bias;
}

function createGrammarState(text: string, { llama, model }: SamplerContext): LlamaGrammarEvaluationState {
  return new LlamaGrammarEvaluationState({ model, grammar: new LlamaGrammar(llama, { grammar: text }) });
}
