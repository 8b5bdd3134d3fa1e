import { type Embeddings, type EmbedRequest, fitText } from "@hearth-and-keep/llama-engine";
import { fieldsOf, listOf, numberOf, numbersOf } from "../wire/json-fields.ts";
import type { SupervisedEngine } from "./supervise-engine.ts";

export type EmbedParts = {
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
  { engine, frame, contextTokens, signal }: EmbedParts,
): Promise<Embeddings> {
  const vectors: Float32Array[] = [];
  let tokens = 0;
  for (const text of texts) {
    signal.throwIfAborted();
    const own = fitText(await tokenize(engine, { text, isFramed: false }, signal), {
      truncates,
      contextTokens,
    });
    const body = { content: [...frame.before, ...own, ...frame.after], embd_normalize: unscaled };
    vectors.push(readVector(await engine.ask({ path: "/embedding", body }, signal)));
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
  const { results } = fieldsOf(await engine.ask({ path: "/rerank", body: { query, documents } }, signal));
  const scores = new Map(
    listOf(results)
      .map(fieldsOf)
      .map(({ index, relevance_score: score }) => [index, 1 / (1 + Math.exp(-(numberOf(score) ?? 0)))]),
  );
  return documents.map((_, index) => scores.get(index) ?? 0);
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
