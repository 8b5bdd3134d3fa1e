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

export type ChoiceParts = {
  readonly llama: Llama;
  readonly model: LlamaModel;
  /** GBNF, already checked. */
  readonly grammar: string | undefined;
  /** The tokens of prompt and answer so far; penalties look at the last of them. */
  readonly history: readonly Token[];
};

/** The port's sampling in the binding's words. */
export function choiceOptions(sampling: Sampling, parts: ChoiceParts): SequenceEvaluateOptions {
  return {
    temperature: sampling.temperature,
    topK: sampling.topK,
    topP: sampling.topP,
    minP: sampling.minP,
    seed: sampling.seed,
    ...penalties(sampling, parts.history),
    ...(sampling.logitBias.size === 0 ? {} : { tokenBias: biasOf(sampling, parts.model) }),
    ...(parts.grammar === undefined ? {} : { grammarEvaluationState: grammarState(parts.grammar, parts) }),
  };
}

function penalties(
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

function biasOf({ logitBias }: Sampling, model: LlamaModel): TokenBias {
  const bias = TokenBias.for(model);
  for (const [token, logit] of logitBias) {
    // The binding brands its token numbers; ours were bounded by the vocabulary above the port.
    bias.set(token as Token, logit === Number.NEGATIVE_INFINITY ? "never" : { logit });
  }
  return bias;
}

function grammarState(text: string, { llama, model }: ChoiceParts): LlamaGrammarEvaluationState {
  return new LlamaGrammarEvaluationState({ model, grammar: new LlamaGrammar(llama, { grammar: text }) });
}
