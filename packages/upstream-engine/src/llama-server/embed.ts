import { fitText } from "@hearth-and-keep/chat-templates";
import type { Embeddings, EmbedRequest } from "@hearth-and-keep/engine";
import type { EngineHttpRequest } from "../wire/engine-client.ts";
import { fieldsOf, listOf, numberOf, numbersOf } from "../wire/json-fields.ts";
import { estimateTokens } from "./prefill-speed.ts";
import type { SupervisedEngine } from "./supervise-engine.ts";
import type { WatchedRequest } from "./watch-engine.ts";

export type EmbedDependencies = {
  readonly engine: SupervisedEngine;
  readonly surrounding: SurroundingTokens;
  readonly contextTokens: number;
  readonly signal: AbortSignal;
};

/**
 * Returns vectors as the model produces them; normalization happens above the engine port, the same for every engine.
 */
const notNormalized = -1;

/** Embeds texts one by one and checks the signal between them. */
export async function embedTexts(
  { texts, truncates }: EmbedRequest,
  { engine, surrounding, contextTokens, signal }: EmbedDependencies,
): Promise<Embeddings> {
  const vectors: Float32Array[] = [];
  let tokens = 0;
  for (const text of texts) {
    signal.throwIfAborted();
    const own = fitText(await tokenize(engine, { text, addsSpecialTokens: false }, signal), {
      truncates,
      contextTokens,
    });
    const content = [...surrounding.before, ...own, ...surrounding.after];
    const body = { content, embd_normalize: notNormalized };
    const request = { path: "/embedding", body, readTokens: content.length };
    vectors.push(readVector(await requestTimed({ request, allTokens: content.length }, engine, signal)));
    tokens += own.length;
  }
  return { vectors, tokens };
}

/** Scores how well each document answers the query, from 0 to 1. */
export async function rankDocuments(
  { query, documents }: { readonly query: string; readonly documents: readonly string[] },
  engine: SupervisedEngine,
  signal: AbortSignal,
): Promise<readonly number[]> {
  // The engine processes them one by one, each together with the query.
  const lengths = documents.map((document) => estimateTokens(query + document));
  const request = { path: "/rerank", body: { query, documents }, readTokens: Math.max(0, ...lengths) };
  const allTokens = lengths.reduce((sum, each) => sum + each, 0);
  const { results } = fieldsOf(await requestTimed({ request, allTokens }, engine, signal));
  const scores = new Map(
    listOf(results)
      .map(fieldsOf)
      .map(({ index, relevance_score: score }) => [index, 1 / (1 + Math.exp(-(numberOf(score) ?? 0)))]),
  );
  return documents.map((_, index) => scores.get(index) ?? 0);
}

/**
 * An engine that embeds does not report its speed, so it is measured here. Waiting for other requests only makes it
 * seem slower.
 */
async function requestTimed(
  {
    request,
    allTokens,
  }: { readonly request: EngineHttpRequest & WatchedRequest; readonly allTokens: number },
  engine: SupervisedEngine,
  signal: AbortSignal,
): Promise<unknown> {
  const startedAt = performance.now();
  const response = await engine.request(request, signal);
  engine.speed.record({ readTokens: allTokens, readMilliseconds: performance.now() - startedAt });
  return response;
}

/** The special tokens that a model adds around every text. */
export type SurroundingTokens = { readonly before: readonly number[]; readonly after: readonly number[] };

/** Determined from the tokens added around a single letter; they are the same for every text. */
export async function readSurroundingTokens(
  engine: SupervisedEngine,
  signal: AbortSignal,
): Promise<SurroundingTokens> {
  const plain = await tokenize(engine, { text: "a", addsSpecialTokens: false }, signal);
  const withSpecialTokens = await tokenize(engine, { text: "a", addsSpecialTokens: true }, signal);
  const start = withSpecialTokens.findIndex((token) => token === plain[0]);
  return { before: withSpecialTokens.slice(0, start), after: withSpecialTokens.slice(start + plain.length) };
}

async function tokenize(
  engine: SupervisedEngine,
  { text, addsSpecialTokens }: { readonly text: string; readonly addsSpecialTokens: boolean },
  signal: AbortSignal,
): Promise<readonly number[]> {
  const body = { content: text, add_special: addsSpecialTokens, parse_special: false };
  return numbersOf(fieldsOf(await engine.request({ path: "/tokenize", body }, signal))["tokens"]);
}

function readVector(response: unknown): Float32Array {
  const { embedding } = fieldsOf(listOf(response)[0]);
  const [first] = listOf(embedding);
  return Float32Array.from(listOf(Array.isArray(first) ? first : embedding), Number);
}
