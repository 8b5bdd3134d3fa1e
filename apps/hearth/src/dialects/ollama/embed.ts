import { type Answer, jsonAnswer } from "@hearth-and-keep/http-service";
import type { HearthCall, HearthParts } from "../../dependencies.ts";
import { type Embedded, embed } from "../../generation/embed.ts";
import { type WishParts, wishFor } from "../../generation/load-request.ts";
import { readKeepAlive } from "./reading/keep-alive.ts";
import { readOptions } from "./reading/options.ts";
import { findAsked, nameOf } from "./resolve-model.ts";
import type { EmbedBody, EmbeddingsBody } from "./schema.ts";
import { duration } from "./write-answer.ts";

export async function answerEmbed(call: HearthCall<EmbedBody>, parts: HearthParts): Promise<Answer> {
  const startedAt = performance.now();
  const { input, truncate, dimensions } = call.body;
  const texts = typeof input === "string" ? [input].filter((text) => text !== "") : (input ?? []);
  const embedded = await embedTexts(call, parts, { texts, truncates: truncate !== false });
  return jsonAnswer({
    model: nameOf(call.body),
    embeddings: embedded.vectors.map((vector) => normalize(shorten(vector, dimensions ?? 0))),
    ...duration("total_duration", performance.now() - startedAt),
    ...duration("load_duration", embedded.loadMilliseconds),
    prompt_eval_count: embedded.tokens,
  });
}

/** The older endpoint: one text, and its vector as the model gives it. */
export async function answerEmbeddings(
  call: HearthCall<EmbeddingsBody>,
  parts: HearthParts,
): Promise<Answer> {
  const texts = call.body.prompt ? [call.body.prompt] : [];
  const { vectors } = await embedTexts(call, parts, { texts, truncates: true });
  return jsonAnswer({ embedding: Array.from(vectors[0] ?? []) });
}

type Texts = { readonly texts: readonly string[]; readonly truncates: boolean };

async function embedTexts(
  { body, signal, note }: HearthCall<EmbedBody | EmbeddingsBody>,
  { models, scheduler }: HearthParts,
  { texts, truncates }: Texts,
): Promise<Embedded> {
  const { model } = await findAsked(models, nameOf(body));
  const { contextTokens } = readOptions(body.options);
  const keepAlive = readKeepAlive(body.keep_alive);
  const wish: WishParts = {
    model,
    ...(contextTokens === undefined ? {} : { contextTokens }),
    ...(keepAlive === undefined ? {} : { keepAlive }),
  };
  note({ model: model.name });
  if (texts.length === 0) {
    await scheduler.preload(wishFor(wish, "embed"), signal);
    return { vectors: [], tokens: 0, loadMilliseconds: 0, queueMilliseconds: 0 };
  }
  const embedded = await embed(scheduler, { ...wish, texts, truncates }, signal);
  note({
    promptTokens: embedded.tokens,
    queueMilliseconds: Math.round(embedded.queueMilliseconds),
    loadMilliseconds: Math.round(embedded.loadMilliseconds),
  });
  return embedded;
}

function shorten(vector: Float32Array, dimensions: number): Float32Array {
  return dimensions > 0 && dimensions < vector.length ? vector.subarray(0, dimensions) : vector;
}

/** A value has nine digits, which is all that 32 bits hold. */
function normalize(vector: Float32Array): readonly number[] {
  const length = Math.hypot(...vector);
  return Array.from(vector, (value) => Number((length === 0 ? 0 : value / length).toPrecision(9)));
}
