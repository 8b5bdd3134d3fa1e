import type { HearthDependencies, HearthRequest } from "../../dependencies.ts";
import type { GenerationEvent } from "../../generation/events.ts";
import type { GenerationRequest } from "../../generation/request.ts";
import { runGeneration } from "../../generation/run-generation.ts";

/** The generation events of each choice, to be consumed one choice after another. */
export type Choices = Iterable<AsyncIterable<GenerationEvent>>;

/**
 * Generates `count` choices sequentially. Each choice queues again, so that one request with many choices cannot
 * occupy every slot, and all but the first find the prompt in the cache.
 */
export function* generateChoices(
  generation: GenerationRequest,
  count: number,
  {
    request,
    dependencies,
  }: {
    readonly request: HearthRequest;
    readonly dependencies: Pick<HearthDependencies, "scheduler" | "metrics">;
  },
): Generator<AsyncIterable<GenerationEvent>> {
  for (let index = 0; index < count; index += 1) {
    yield runGeneration(withOwnSeed(generation, index), dependencies, request);
  }
}

/** With the same seed, every choice would be the same. */
function withOwnSeed(generation: GenerationRequest, index: number): GenerationRequest {
  const seed = generation.sampling.seed ?? generation.model.parameters.values.seed ?? -1;
  if (index === 0 || seed < 0) return generation;
  // The largest seed has no successor.
  const own = seed <= Number.MAX_SAFE_INTEGER - index ? seed + index : seed - index;
  return { ...generation, sampling: { ...generation.sampling, seed: own } };
}
