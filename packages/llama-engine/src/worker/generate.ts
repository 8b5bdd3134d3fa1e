import { fitPrompt } from "@hearth-and-keep/chat-templates";
import type { EngineEvent, EngineRequest, Usage } from "@hearth-and-keep/engine";
import type { Token } from "node-llama-cpp";
import { generateTokens } from "./generate-tokens.ts";
import type { LoadedModel } from "./load-model.ts";
import type { ModelContext } from "./model-context.ts";
import { endTokens, prefillPrompt } from "./prefill-prompt.ts";
import type { PromptStates } from "./prompt-states.ts";
import type { PromptTokenizer } from "./prompt-tokenizer.ts";
import { samplingOptions } from "./sampling-options.ts";
import { type LeasedSequence, SequencePool } from "./sequence-pool.ts";
import { batchPosition } from "./share-batch.ts";
import type { Speculation, StartSpeculation } from "./speculate.ts";

export type Generator = {
  generate(
    request: EngineRequest,
    options: { readonly signal: AbortSignal; readonly emit: (event: EngineEvent) => void },
  ): Promise<void>;
  /** Keeps the states of prompts beyond this process. Returns how many. */
  keepPrompts(): Promise<number>;
};

type GenerationContext = Extract<ModelContext, { purpose: "generate" }> & {
  readonly promptStates?: PromptStates | undefined;
};

/** Runs requests on the sequences of one context. Each request emits its events and ends with `generation-end`. */
export function createGenerator(
  loaded: LoadedModel,
  { sequences, isDecoding, unusedMemory, startSpeculation, promptStates }: GenerationContext,
  { tokenizeInput }: PromptTokenizer,
): Generator {
  const pool = new SequencePool(sequences, promptStates);
  let running = 0;
  const isAlone = (): boolean => running === 1 && pool.waitingRequests === 0;
  const pendingAdmissions = (): Promise<unknown> | undefined => pool.pendingAdmissions();
  return {
    keepPrompts: () => pool.keepAll(),
    async generate(request, { signal, emit }) {
      const { input, constraint } = request;
      const prompt = await tokenizeInput(input);
      const { forClients } = loaded.preparation;
      const grammar = constraint === undefined ? undefined : await forClients.grammar(constraint);
      signal.throwIfAborted();
      const maxTokens = fitPrompt(prompt.length, request, sequences[0]?.contextSize ?? 0);
      using leased = await pool.acquire({ prompt, partition: request.cachePartition, signal });
      running += 1;
      try {
        const context = { ...loaded, signal, emit, isAlone, pendingAdmissions, startSpeculation };
        await runRequest({ ...request, maxTokens }, { prompt, grammar, leased }, context);
      } finally {
        running -= 1;
        // A state that is being restored is written by another thread.
        void unusedMemory?.release(() => running === 0 && !isDecoding() && pendingAdmissions() === undefined);
      }
    },
  };
}

/** What a request is computed from: its input as tokens, its constraint as GBNF, and the sequence it runs on. */
type PreparedInput = {
  readonly prompt: readonly Token[];
  readonly grammar: string | undefined;
  readonly leased: LeasedSequence;
};

type RequestContext = Pick<LoadedModel, "llama" | "model" | "speed"> & {
  readonly signal: AbortSignal;
  readonly emit: (event: EngineEvent) => void;
  readonly isAlone: () => boolean;
  readonly pendingAdmissions: () => Promise<unknown> | undefined;
  readonly startSpeculation: StartSpeculation | undefined;
};

async function runRequest(
  { sampling, maxTokens, logProbabilities }: EngineRequest,
  { prompt, grammar, leased: { sequence, number, cachedTokens } }: PreparedInput,
  { llama, model, speed, signal, emit, isAlone, pendingAdmissions, startSpeculation }: RequestContext,
): Promise<void> {
  const position = batchPosition(number);
  const startedAt = performance.now();
  const emitProgress = (evaluated: number): void =>
    emit({ type: "prompt-progress", evaluated, total: prompt.length, cached: cachedTokens });
  // Emitted before the first step, so that the length of the prompt is known while it is evaluated.
  emitProgress(cachedTokens);
  const unreadTokens = endTokens(prompt.length - cachedTokens, prompt.length);
  await prefillPrompt(sequence, prompt.slice(cachedTokens, -unreadTokens), {
    options: position,
    speed,
    signal,
    pendingAdmissions,
    isAlone,
    onProgress: (evaluated) => emitProgress(cachedTokens + evaluated),
  });
  const history = [...prompt];
  using speculation = startSpeculation?.({
    sequence,
    history,
    isAlone,
    remainingTokens: () => prompt.length + maxTokens - history.length - 1,
  });
  const { reason, outputTokens, firstTokenAt } = await generateTokens({
    sequence,
    model,
    history,
    unreadTokens,
    options: { ...position, ...samplingOptions(sampling, { llama, model, grammar, history }) },
    maxTokens,
    logProbabilities,
    signal,
    pendingAdmissions,
    emit,
  });
  emit({
    type: "generation-end",
    reason,
    usage: { promptTokens: prompt.length, cachedTokens, outputTokens, ...countGuesses(speculation) },
    timings: {
      promptMilliseconds: firstTokenAt - startedAt,
      outputMilliseconds: performance.now() - firstTokenAt,
    },
  });
}

function countGuesses(speculation: Speculation | undefined): Pick<Usage, "guessedTokens" | "acceptedTokens"> {
  if (speculation === undefined || speculation.proposedTokens === 0) return {};
  return { guessedTokens: speculation.proposedTokens, acceptedTokens: speculation.acceptedTokens };
}
