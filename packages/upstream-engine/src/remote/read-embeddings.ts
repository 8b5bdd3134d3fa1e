import type { Embeddings } from "@hearth-and-keep/engine";
import { countOf, fieldsOf, listOf, numbersOf } from "../wire/json-fields.ts";
import { WireError } from "../wire/wire-error.ts";

export type EmbeddingAnswer = { readonly rows: unknown; readonly usage: unknown };

/**
 * One vector for each text, in the order of the texts. An answer with a row too few or twice, or with a vector of no
 * numbers or of another length than the others, is the engine's failure: its vectors would stand for other texts.
 */
export function readEmbeddings({ rows, usage }: EmbeddingAnswer, texts: number): Embeddings {
  const list = listOf(rows).map(fieldsOf);
  const vectors: (Float32Array | undefined)[] = Array.from({ length: texts });
  for (const [position, { index, embedding }] of list.entries()) {
    const place = index === undefined ? position : (countOf(index) ?? texts);
    if (place >= texts || vectors[place] !== undefined) throw notUnderstood();
    vectors[place] = readVector(embedding);
  }
  const whole = vectors.filter((vector) => vector !== undefined);
  const [first] = whole;
  const isEven = whole.every(({ length }) => length === first?.length);
  if (whole.length !== texts || !isEven) throw notUnderstood();
  return { vectors: whole, tokens: countOf(fieldsOf(usage)["prompt_tokens"]) ?? 0 };
}

function readVector(embedding: unknown): Float32Array {
  const vector = Float32Array.from(numbersOf(embedding));
  // A number that is too large for its kind is infinite by now.
  if (vector.length === 0 || !vector.every(Number.isFinite)) throw notUnderstood();
  return vector;
}

function notUnderstood(): WireError {
  return new WireError({ kind: "not-understood" });
}
