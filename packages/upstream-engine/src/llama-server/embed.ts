import { fitText } from "@hearth-and-keep/chat-templates";
import type { Embeddings, EmbedRequest } from "@hearth-and-keep/engine";
import type { EngineHttpRequest } from "../wire/engine-client.ts";
import { fieldsOf, listOf, numberOf, numbersOf } from "../wire/json-fields.ts";
import { guessTokens } from "./prefill-speed.ts";
import type { SupervisedEngine } from "./supervise-engine.ts";
import type { WatchedRequest } from "./watch-engine.ts";

export type EmbedDependencies = {
  readonly engine: SupervisedEngine;
  readonly frame: Frame;
  readonly contextTokens: number;
  readonly signal: AbortSignal;
};

/** As the model gives them: whoever wants them scaled does so above the port, alike for every engine. */
const unscaled = -1;

/** One text after another, looking at the signal between them. */
export async function embedTexts(
  { texts, truncates }: EmbedRequest,
  { engine, frame, contextTokens, signal }: EmbedDependencies,
): Promise<Embeddings> {
  const vectors: Float32Array[] = [];
  let tokens = 0;
  for (const text of texts) {
    signal.throwIfAborted();
    const own = fitText(await tokenize(engine, { text, isFramed: false }, signal), {
      truncates,
      contextTokens,
    });
    const content = [...frame.before, ...own, ...frame.after];
    const body = { content, embd_normalize: unscaled };
    const asked = { path: "/embedding", body, readTokens: content.length };
    vectors.push(readVector(await timeReading({ asked, allTokens: content.length }, engine, signal)));
    tokens += own.length;
  }
  return { vectors, tokens };
}

/** How well each document answers the query, as a share from 0 to 1. */
export async function rankDocuments(
  { query, documents }: { readonly query: string; readonly documents: readonly string[] },
  engine: SupervisedEngine,
  signal: AbortSignal,
): Promise<readonly number[]> {
  // Read one after another, each together with the query.
  const lengths = documents.map((document) => guessTokens(query + document));
  const asked = { path: "/rerank", body: { query, documents }, readTokens: Math.max(0, ...lengths) };
  const allTokens = lengths.reduce((sum, each) => sum + each, 0);
  const { results } = fieldsOf(await timeReading({ asked, allTokens }, engine, signal));
  const scores = new Map(
    listOf(results)
      .map(fieldsOf)
      .map(({ index, relevance_score: score }) => [index, 1 / (1 + Math.exp(-(numberOf(score) ?? 0)))]),
  );
  return documents.map((_, index) => scores.get(index) ?? 0);
}

/** An engine that embeds does not say how fast it reads; waiting for others' texts only makes it seem slower. */
async function timeReading(
  { asked, allTokens }: { readonly asked: EngineHttpRequest & WatchedRequest; readonly allTokens: number },
  engine: SupervisedEngine,
  signal: AbortSignal,
): Promise<unknown> {
  const startedAt = performance.now();
  const answer = await engine.ask(asked, signal);
  engine.speed.learn({ readTokens: allTokens, readMilliseconds: performance.now() - startedAt });
  return answer;
}

/** What a model puts around every text. */
export type Frame = { readonly before: readonly number[]; readonly after: readonly number[] };

/** Found by what is put around one letter; the same for every text. */
export async function readFrame(engine: SupervisedEngine, signal: AbortSignal): Promise<Frame> {
  const inner = await tokenize(engine, { text: "a", isFramed: false }, signal);
  const framed = await tokenize(engine, { text: "a", isFramed: true }, signal);
  const start = framed.findIndex((token) => token === inner[0]);
  return { before: framed.slice(0, start), after: framed.slice(start + inner.length) };
}

async function tokenize(
  engine: SupervisedEngine,
  { text, isFramed }: { readonly text: string; readonly isFramed: boolean },
  signal: AbortSignal,
): Promise<readonly number[]> {
  const body = { content: text, add_special: isFramed, parse_special: false };
  return numbersOf(fieldsOf(await engine.ask({ path: "/tokenize", body }, signal))["tokens"]);
}

function readVector(answer: unknown): Float32Array {
  const { embedding } = fieldsOf(listOf(answer)[0]);
  const [first] = listOf(embedding);
  return Float32Array.from(listOf(Array.isArray(first) ? first : embedding), Number);
}
