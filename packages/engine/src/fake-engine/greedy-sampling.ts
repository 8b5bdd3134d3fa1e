import type { Sampling } from "../sampling.ts";

/** Always the most likely token, without penalties: for tests that are not about sampling. */
export const greedySampling: Sampling = {
  temperature: 0,
  topK: 40,
  topP: 0.9,
  minP: 0,
  typicalP: 1,
  repeatPenalty: 1,
  repeatLastTokens: 64,
  frequencyPenalty: 0,
  presencePenalty: 0,
  seed: 1,
  logitBias: new Map(),
};
