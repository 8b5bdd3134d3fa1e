import type { EngineEvent, EngineFailure, GenerateRequest } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import type { LlamaContextSequence, Token } from "node-llama-cpp";
import { choiceOptions } from "./choose-token.ts";
import type { HostedModel } from "./hosted-model.ts";
import { readPrompt } from "./read-prompt.ts";
import { type LentSequence, SequencePool } from "./sequence-pool.ts";
import { placeInBatch, shortItemTokens } from "./share-batch.ts";
import { writeAnswer } from "./write-answer.ts";

export type Generator = {
  generate(
    request: PreparedRequest,
    parts: { signal: AbortSignal; post: (event: EngineEvent) => void },
  ): Promise<void>;
};

export type PreparedRequest = Omit<GenerateRequest, "input" | "constraint"> & {
  readonly prompt: readonly Token[];
  readonly grammar: string | undefined;
};

/** Serves many requests over the sequences of one context; each posts its events and ends with `generation-end`. */
export function createGenerator(hosted: HostedModel, sequences: readonly LlamaContextSequence[]): Generator {
  const pool = new SequencePool(sequences);
  let running = 0;
  const isAlone = (): boolean => running === 1 && pool.waitingRequests === 0;
  const letNewcomersIn = (): Promise<unknown> | undefined => pool.letNewcomersIn();
  return {
    async generate(request, { signal, post }) {
      refuseTooLong(request.prompt.length, sequences[0]?.contextSize ?? 0);
      const { prompt, cachePartition: partition } = request;
      using place = await pool.lend({ prompt, partition, signal });
      running += 1;
      try {
        await answer(request, place, { ...hosted, signal, post, isAlone, letNewcomersIn });
      } finally {
        running -= 1;
      }
    },
  };
}

type AnswerParts = Pick<HostedModel, "llama" | "model" | "speed"> & {
  readonly signal: AbortSignal;
  readonly post: (event: EngineEvent) => void;
  readonly isAlone: () => boolean;
  readonly letNewcomersIn: () => Promise<unknown> | undefined;
};

async function answer(request: PreparedRequest, place: LentSequence, parts: AnswerParts): Promise<void> {
  const { prompt, sampling, grammar, mostTokens, logProbabilities } = request;
  const { sequence, cachedTokens } = place;
  const { llama, model, speed, signal, post, isAlone, letNewcomersIn } = parts;
  const inBatch = placeInBatch(place.number);
  const startedAt = performance.now();
  const tellProgress = (evaluated: number): void =>
    post({ type: "prompt-progress", evaluated, total: prompt.length, cached: cachedTokens });
  // Told before the first step, so that everybody knows the length of the prompt while it is read.
  tellProgress(cachedTokens);
  // The end goes together with the first token: one batch less to wait for.
  const unreadTokens = Math.min(prompt.length - cachedTokens, shortItemTokens);
  await readPrompt(sequence, prompt.slice(cachedTokens, -unreadTokens), {
    options: inBatch,
    speed,
    signal,
    letNewcomersIn,
    isAlone,
    onProgress: (read) => tellProgress(cachedTokens + read),
  });
  const history = [...prompt];
  const { reason, outputTokens, begunAt } = await writeAnswer({
    sequence,
    model,
    history,
    unreadTokens,
    options: { ...inBatch, ...choiceOptions(sampling, { llama, model, grammar, history }) },
    mostTokens,
    logProbabilities,
    signal,
    letNewcomersIn,
    post,
  });
  post({
    type: "generation-end",
    reason,
    usage: { promptTokens: prompt.length, cachedTokens, outputTokens },
    timings: {
      promptMilliseconds: begunAt - startedAt,
      outputMilliseconds: performance.now() - begunAt,
    },
  });
}

function refuseTooLong(promptTokens: number, contextTokens: number): void {
  if (promptTokens === 0) throw new Error("Cannot generate from an empty prompt");
  if (promptTokens >= contextTokens) {
    throw new FailureError<EngineFailure>({ kind: "prompt-too-long", promptTokens, contextTokens });
  }
}
