import type { Engine, EngineFailure } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import { createLoadRequest, type Lease, type LoadInput } from "../scheduling/load-request.ts";
import type { Scheduler } from "../scheduling/scheduler.ts";

export type RankRequest = LoadInput & { readonly query: string; readonly documents: readonly string[] };

export type RankResult = Pick<Lease, "loadMilliseconds" | "queueMilliseconds"> & {
  /** How well each document answers the query, from 0 to 1. */
  readonly scores: readonly number[];
  /** The query counts once for each document. */
  readonly tokens: number;
  /** The driver that ran the model. */
  readonly engine: string;
};

/** Tokens that models put before, between and after the two texts. */
const surroundingTokens = 4;

export async function rank(
  scheduler: Pick<Scheduler, "acquire">,
  { query, documents, ...request }: RankRequest,
  signal: AbortSignal,
): Promise<RankResult> {
  using lease = await scheduler.acquire(createLoadRequest(request, "rank"), signal);
  const { engine, window, loadMilliseconds, queueMilliseconds } = lease;
  const lengths = await countPairs(engine, { query, documents }, signal);
  const longest = Math.max(0, ...lengths);
  if (longest > window.tokens) {
    throw new FailureError<EngineFailure>({
      kind: "prompt-too-long",
      promptTokens: longest,
      contextTokens: window.tokens,
      limitedBy: window.limitedBy,
    });
  }
  const scores = await engine.rank(query, documents, signal);
  const tokens = lengths.reduce((sum, length) => sum + length, 0);
  lease.addTokens(tokens, 0);
  return { scores, tokens, engine: engine.describe().driver, loadMilliseconds, queueMilliseconds };
}

/** The tokens of the query together with each document. */
async function countPairs(
  engine: Engine,
  { query, documents }: Pick<RankRequest, "query" | "documents">,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const queryTokens = (await engine.tokenize(query, signal)).length + surroundingTokens;
  const lengths: number[] = [];
  for (const document of documents) {
    lengths.push(queryTokens + (await engine.tokenize(document, signal)).length);
  }
  return lengths;
}
