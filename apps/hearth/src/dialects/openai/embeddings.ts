import { type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import type { HearthDependencies, HearthRequest } from "../../dependencies.ts";
import { invalidField } from "../../failures.ts";
import { embed } from "../../generation/embed.ts";
import { reportLocation } from "../../generation/run-generation.ts";
import { readKeepAlive } from "./read-keep-alive.ts";
import { resolveModel } from "./resolve-model.ts";
import type { CreateEmbeddingsBody } from "./schema.ts";

export async function handleCreateEmbeddings(
  request: HearthRequest<CreateEmbeddingsBody>,
  dependencies: HearthDependencies,
): Promise<HttpResponse> {
  const { body, signal } = request;
  // Text models have embeddings too, so no capability is required and the engine decides.
  const model = await resolveModel(request, dependencies);
  const texts = readTexts(body);
  reportLocation(model, request);
  const contextTokens = body.options?.num_ctx ?? undefined;
  const { vectors, tokens, ...measured } = await embed(
    dependencies.scheduler,
    {
      model,
      texts,
      truncates: false,
      ...readKeepAlive(body.keep_alive, request.actor),
      ...(contextTokens === undefined ? {} : { contextTokens }),
    },
    signal,
  );
  request.addLogFields({ promptTokens: tokens, ...measured });
  return jsonResponse({
    object: "list",
    data: vectors.map((vector, index) => ({
      object: "embedding",
      index,
      embedding: writeVector(vector, body),
    })),
    model: body.model,
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  });
}

function readTexts({ input }: CreateEmbeddingsBody): readonly string[] {
  const inputs = typeof input === "string" ? [input] : input;
  return inputs.map((each) => {
    if (each === "") throw invalidField("input", "must not contain an empty string");
    if (typeof each === "string") return each;
    throw invalidField("input", `must be text; token ids are not supported ${langChainHint}`);
  });
}

const langChainHint = "(in LangChain, set check_embedding_ctx_length=False)";

/** The first `dimensions` values, normalized to unit length. */
function writeVector(vector: Float32Array, body: CreateEmbeddingsBody): string | readonly number[] {
  const dimensions = body.dimensions ?? vector.length;
  if (dimensions > vector.length) {
    throw invalidField("dimensions", `must be at most ${vector.length} for this model`);
  }
  const cut = vector.subarray(0, dimensions);
  const length = Math.hypot(...cut);
  const normalized = length === 0 ? cut : cut.map((value) => value / length);
  return body.encoding_format === "base64" ? encodeBase64(normalized) : [...normalized];
}

/** Little-endian on every machine, because clients expect it. */
function encodeBase64(vector: Float32Array): string {
  const bytes = Buffer.alloc(vector.length * Float32Array.BYTES_PER_ELEMENT);
  for (const [index, value] of vector.entries()) bytes.writeFloatLE(value, index * 4);
  return bytes.toString("base64");
}
