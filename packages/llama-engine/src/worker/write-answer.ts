import type { EndReason, EngineEvent, TokenProbability } from "@hearth-and-keep/engine";
import type { LlamaContextSequence, LlamaModel, SequenceEvaluateOptions, Token } from "node-llama-cpp";
import { mostAlternatives } from "./native-context.ts";
import { openTokenText } from "./token-text.ts";

export type AnswerPlan = {
  readonly sequence: LlamaContextSequence;
  readonly model: LlamaModel;
  /** Prompt and answer so far; every token written is added to it. */
  readonly history: Token[];
  /** How many tokens at the end of the prompt are still to be read: at least one, whose logits begin the answer. */
  readonly unreadTokens: number;
  readonly options: SequenceEvaluateOptions;
  readonly mostTokens: number;
  readonly logProbabilities: number | undefined;
  readonly signal: AbortSignal;
  readonly letNewcomersIn: () => Promise<unknown> | undefined;
  readonly post: (event: EngineEvent) => void;
};

export type WrittenAnswer = {
  readonly reason: EndReason;
  readonly outputTokens: number;
  /** When the prompt was read and the first token chosen. */
  readonly begunAt: number;
};

/** Writes token after token until the model ends its turn, a limit is reached, or nobody listens any more. */
export async function writeAnswer(plan: AnswerPlan): Promise<WrittenAnswer> {
  const { sequence, model, history, signal, post } = plan;
  const text = openTokenText(model, history);
  const unread = history.slice(-plan.unreadTokens);
  // The binding types its output by this literal; when it is not asked for, the map is absent.
  const metadata = { probabilities: plan.logProbabilities !== undefined } as { readonly probabilities: true };
  let outputTokens = 0;
  let begunAt: number | undefined;
  let reason: EndReason = "stop";
  for await (const { token, probabilities } of sequence.evaluateWithMetadata(
    unread,
    metadata,
    plan.options,
  )) {
    begunAt ??= performance.now();
    signal.throwIfAborted();
    history.push(token);
    outputTokens += 1;
    const written = text.add(token);
    const tokens = reportProbability(token, { probabilities, plan });
    if (written !== "" || tokens !== undefined) {
      post({ type: "text-delta", text: written, outputTokens, ...(tokens === undefined ? {} : { tokens }) });
    }
    // The next token would have no room: ending here is the only way that never shifts the context.
    if (outputTokens >= plan.mostTokens || sequence.nextTokenIndex + 1 >= sequence.contextSize) {
      reason = "length";
      break;
    }
    const newcomers = plan.letNewcomersIn();
    if (newcomers !== undefined) await newcomers;
  }
  const rest = text.end();
  if (rest !== "") post({ type: "text-delta", text: rest, outputTokens });
  return { reason, outputTokens, begunAt: begunAt ?? performance.now() };
}

type Reported = {
  /** The binding's name for them; what it holds is told in native-context.ts. */
  readonly probabilities: ReadonlyMap<Token, number> | undefined;
  readonly plan: AnswerPlan;
};

function reportProbability(
  token: Token,
  { probabilities, plan }: Reported,
): readonly TokenProbability[] | undefined {
  if (probabilities === undefined || plan.logProbabilities === undefined) return undefined;
  const describe = (each: Token, logProbability: number) => ({
    token: each,
    text: plan.model.detokenize([each], true),
    logProbability,
  });
  const alternatives = [...probabilities.entries()]
    .slice(0, Math.min(plan.logProbabilities, mostAlternatives))
    .map(([each, logProbability]) => describe(each, logProbability));
  const own = probabilities.get(token) ?? Number.NEGATIVE_INFINITY;
  return [{ ...describe(token, own), alternatives }];
}
