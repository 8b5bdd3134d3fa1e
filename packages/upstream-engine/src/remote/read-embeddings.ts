import type { Embeddings } from "@hearth-and-keep/engine";
import { countOf, fieldsOf, listOf, numbersOf } from "../wire/json-fields.ts";
import { WireError } from "../wire/wire-error.ts";

export type EmbeddingResponse = { readonly rows: unknown; readonly usage: unknown };

/**
 * Returns one vector per text, in the order of the texts. A response with missing or duplicate rows, or with vectors that
 * are empty, not finite or of different lengths, is invalid: its vectors could belong to other texts.
 */
export function readEmbeddings({ rows, usage }: EmbeddingResponse, texts: number): Embeddings {
  const list = listOf(rows).map(fieldsOf);
  const vectors: (Float32Array | undefined)[] = Array.from({ length: texts });
  for (const [position, { index, embedding }] of list.entries()) {
    const row = index === undefined ? position : (countOf(index) ?? texts);
    if (row >= texts || vectors[row] !== undefined) throw invalidResponse();
    vectors[row] = readVector(embedding);
  }
  const complete = vectors.filter((vector) => vector !== undefined);
  const [first] = complete;
  const isUniform = complete.every(({ length }) => length === first?.length);
  if (complete.length !== texts || !isUniform) throw invalidResponse();
  return { vectors: complete, tokens: countOf(fieldsOf(usage)["prompt_tokens"]) ?? 0 };
}

function readVector(embedding: unknown): Float32Array {
  const vector = Float32Array.from(numbersOf(embedding));
  // A number too large for float32 has become infinite.
  if (vector.length === 0 || !vector.every(Number.isFinite)) throw invalidResponse();
  return vector;
}

function invalidResponse(): WireError {
  return new WireError({ kind: "invalid-response" });
}
