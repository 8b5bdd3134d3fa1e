import { type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import { onlyFromAdmin } from "../../access/authenticate.ts";
import type { HearthDependencies, HearthRequest } from "../../dependencies.ts";
import { type EmbedResult, embed } from "../../generation/embed.ts";
import { reportLocation } from "../../generation/run-generation.ts";
import { createLoadRequest, type LoadInput } from "../../scheduling/load-request.ts";
import { durationField } from "./duration-field.ts";
import { readKeepAlive } from "./read-keep-alive.ts";
import { readOptions } from "./read-options.ts";
import { nameOf, resolveModel } from "./resolve-model.ts";
import type { EmbedBody, EmbeddingsBody } from "./schema.ts";

export async function handleEmbed(
  request: HearthRequest<EmbedBody>,
  dependencies: HearthDependencies,
): Promise<HttpResponse> {
  const startedAt = performance.now();
  const { input, truncate, dimensions } = request.body;
  const texts = typeof input === "string" ? [input].filter((text) => text !== "") : (input ?? []);
  const embedded = await embedTexts(request, dependencies, { texts, truncates: truncate !== false });
  return jsonResponse({
    model: nameOf(request.body),
    embeddings: embedded.vectors.map((vector) => normalize(truncateVector(vector, dimensions ?? 0))),
    ...durationField("total_duration", performance.now() - startedAt),
    ...durationField("load_duration", embedded.loadMilliseconds),
    prompt_eval_count: embedded.tokens,
  });
}

/** The older endpoint: one text, and its embedding without normalization. */
export async function handleEmbeddings(
  request: HearthRequest<EmbeddingsBody>,
  dependencies: HearthDependencies,
): Promise<HttpResponse> {
  const texts = request.body.prompt ? [request.body.prompt] : [];
  const { vectors } = await embedTexts(request, dependencies, { texts, truncates: true });
  return jsonResponse({ embedding: Array.from(vectors[0] ?? []) });
}

type Texts = { readonly texts: readonly string[]; readonly truncates: boolean };

async function embedTexts(
  request: HearthRequest<EmbedBody | EmbeddingsBody>,
  { models, scheduler }: HearthDependencies,
  { texts, truncates }: Texts,
): Promise<EmbedResult> {
  const { body, actor, signal, addLogFields } = request;
  const { model } = await resolveModel(models, nameOf(body));
  const { contextTokens, ...options } = readOptions(body.options);
  const loadSettings = onlyFromAdmin(actor, options.loadSettings);
  const keepAlive = onlyFromAdmin(actor, readKeepAlive(body.keep_alive));
  const loadInput: LoadInput = {
    model,
    ...(contextTokens === undefined ? {} : { contextTokens }),
    ...(loadSettings === undefined ? {} : { loadSettings }),
    ...(keepAlive === undefined ? {} : { keepAlive }),
  };
  reportLocation(model, request);
  if (texts.length === 0) {
    await scheduler.preload(createLoadRequest(loadInput, "embed"), signal);
    return { vectors: [], tokens: 0, engine: "", loadMilliseconds: 0, queueMilliseconds: 0 };
  }
  const embedded = await embed(scheduler, { ...loadInput, texts, truncates }, signal);
  const { vectors: _vectors, tokens: promptTokens, ...measured } = embedded;
  addLogFields({
    promptTokens,
    ...measured,
    queueMilliseconds: Math.round(measured.queueMilliseconds),
    loadMilliseconds: Math.round(measured.loadMilliseconds),
  });
  return embedded;
}

function truncateVector(vector: Float32Array, dimensions: number): Float32Array {
  return dimensions > 0 && dimensions < vector.length ? vector.subarray(0, dimensions) : vector;
}

/** Unit length. Nine digits are enough for a 32-bit float. */
function normalize(vector: Float32Array): readonly number[] {
  const length = Math.hypot(...vector);
  return Array.from(vector, (value) => Number((length === 0 ? 0 : value / length).toPrecision(9)));
}
