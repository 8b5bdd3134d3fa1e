import { type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import type { HearthDependencies, HearthRequest } from "../../dependencies.ts";
import { rank } from "../../generation/rank.ts";
import { reportLocation } from "../../generation/run-generation.ts";
import { readKeepAlive } from "./read-keep-alive.ts";
import { resolveModel } from "./resolve-model.ts";
import type { RerankBody } from "./schema.ts";

/** `POST /v1/rerank`, as Jina, Cohere, vLLM and llama.cpp's server have it; OpenAI has no such endpoint. */
export async function handleRerank(
  request: HearthRequest<RerankBody>,
  dependencies: HearthDependencies,
): Promise<HttpResponse> {
  const { body, signal } = request;
  const model = await resolveModel(request, dependencies, "rank");
  reportLocation(model, request);
  const documents = body.documents.map((document) =>
    typeof document === "string" ? document : document.text,
  );
  const { scores, tokens, engine, loadMilliseconds, queueMilliseconds } = await rank(
    dependencies.scheduler,
    { model, query: body.query, documents, ...readKeepAlive(body.keep_alive, request.actor) },
    signal,
  );
  request.addLogFields({ promptTokens: tokens, engine, loadMilliseconds, queueMilliseconds });
  const results = scores
    .map((score, index) => ({
      index,
      relevance_score: score,
      ...(body.return_documents === true ? { document: { text: documents[index] } } : {}),
    }))
    .toSorted((first, second) => second.relevance_score - first.relevance_score)
    .slice(0, body.top_n ?? documents.length);
  return jsonResponse({
    object: "list",
    model: body.model,
    results,
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  });
}
