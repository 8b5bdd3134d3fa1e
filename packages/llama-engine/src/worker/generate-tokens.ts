import type { EndReason, EngineEvent, TokenProbability } from "@hearth-and-keep/engine";
import type { LlamaContextSequence, LlamaModel, SequenceEvaluateOptions, Token } from "node-llama-cpp";
import { maxAlternatives } from "./native-context.ts";

export type GenerationPlan = {
  readonly sequence: LlamaContextSequence;
  readonly model: LlamaModel;
  /** The prompt and the output so far; every generated token is appended. */
  readonly history: Token[];
  /** Tokens at the end of the prompt that are not evaluated yet: at least one, whose logits start the output. */
  readonly unreadTokens: number;
  readonly options: SequenceEvaluateOptions;
  readonly maxTokens: number;
  readonly logProbabilities: number | undefined;
  readonly signal: AbortSignal;
  readonly pendingAdmissions: () => Promise<unknown> | undefined;
  readonly emit: (event: EngineEvent) => void;
};

export type GeneratedTokens = {
  readonly reason: EndReason;
  readonly outputTokens: number;
  /** When the prompt was evaluated and the first token sampled. */
  readonly firstTokenAt: number;
};

/** Generates tokens until the model ends its turn, a limit is reached, or the request is aborted. */
export async function generateTokens(plan: GenerationPlan): Promise<GeneratedTokens> {
  const { sequence, model, history, signal, emit } = plan;
  const decoder = createTokenDecoder(model, history);
  const unread = history.slice(-plan.unreadTokens);
  const promptTokens = history.length;
  // The binding types its output by this literal; if it is false, the map is absent.
  const metadata = { probabilities: plan.logProbabilities !== undefined } as { readonly probabilities: true };
  let outputTokens = 0;
  let firstTokenAt: number | undefined;
  let reason: EndReason = "stop";
  for await (const { token, probabilities } of sequence.evaluateWithMetadata(
    unread,
    metadata,
    plan.options,
  )) {
    firstTokenAt ??= performance.now();
    signal.throwIfAborted();
    outputTokens += 1;
    // A token that was guessed right is there already: see speculate.ts.
    if (history.length < promptTokens + outputTokens) history.push(token);
    const text = decoder.add(token);
    const tokens = reportProbability(token, { probabilities, plan });
    if (text !== "" || tokens !== undefined) {
      emit({ type: "text-delta", text, outputTokens, ...(tokens === undefined ? {} : { tokens }) });
    }
    // The next token would not fit. Stopping here avoids a context shift.
    if (outputTokens >= plan.maxTokens || sequence.nextTokenIndex + 1 >= sequence.contextSize) {
      reason = "length";
      break;
    }
    const admissions = plan.pendingAdmissions();
    if (admissions !== undefined) await admissions;
  }
  const rest = decoder.flush();
  if (rest !== "") emit({ type: "text-delta", text: rest, outputTokens });
  return { reason, outputTokens, firstTokenAt: firstTokenAt ?? performance.now() };
}

/** JSON has no infinity, and clients are sent this number in its place. */
const impossible = -9999;

type ProbabilityReport = {
  /** The binding's name for log-probabilities: see native-context.ts. */
  readonly probabilities: ReadonlyMap<Token, number> | undefined;
  readonly plan: GenerationPlan;
};

function reportProbability(
  token: Token,
  { probabilities, plan }: ProbabilityReport,
): readonly TokenProbability[] | undefined {
  if (probabilities === undefined || plan.logProbabilities === undefined) return undefined;
  const describe = (each: Token, logProbability: number) => ({
    token: each,
    text: plan.model.detokenize([each], true),
    logProbability: Math.max(logProbability, impossible),
  });
  const alternatives = [...probabilities.entries()]
    .slice(0, Math.min(plan.logProbabilities, maxAlternatives))
    .map(([each, logProbability]) => describe(each, logProbability));
  const own = probabilities.get(token) ?? Number.NEGATIVE_INFINITY;
  return [{ ...describe(token, own), alternatives }];
}

/** A character has at most four bytes and a byte-level token at least one, so more tokens cannot be one character. */
const maxHeldTokens = 8;
const replacementCharacter = "\uFFFD";

type TokenDecoder = {
  /** The text that this token completes; empty while a character is incomplete. */
  add(token: Token): string;
  /** The rest, if the output ends inside a character. */
  flush(): string;
};

/** Decodes tokens incrementally and never returns a partial character. Special tokens keep their text. */
function createTokenDecoder(
  model: Pick<LlamaModel, "detokenize">,
  preceding: readonly Token[],
): TokenDecoder {
  let held: Token[] = [];
  let before = preceding.slice(-maxHeldTokens);
  const release = (text: string): string => {
    before = [...before, ...held].slice(-maxHeldTokens);
    held = [];
    return text;
  };
  return {
    add(token) {
      held.push(token);
      const text = model.detokenize(held, true, before);
      const isIncomplete = text.endsWith(replacementCharacter) && held.length < maxHeldTokens;
      return isIncomplete ? "" : release(text);
    },
    flush: () => (held.length === 0 ? "" : release(model.detokenize(held, true, before))),
  };
}
