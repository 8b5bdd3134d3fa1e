import { type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import type { HearthDependencies, HearthRequest } from "../../../dependencies.ts";
import { countPrompt } from "../../../generation/count-prompt.ts";
import { reportLocation } from "../../../generation/run-generation.ts";
import { requestIdHeader } from "../errors.ts";
import type { CountTokensBody } from "../schema.ts";
import { readPrompt } from "./read-request.ts";

/** The exact prompt length that a message request would report, or an estimate if the engine cannot count. */
export async function handleCountTokens(
  request: HearthRequest<CountTokensBody>,
  { scheduler, ...services }: HearthDependencies,
): Promise<HttpResponse> {
  const prompt = await readPrompt(request, services);
  reportLocation(prompt.model, request);
  const inputTokens = await countPrompt(prompt, scheduler, request.signal);
  request.addLogFields({ promptTokens: inputTokens });
  const response = jsonResponse({ input_tokens: inputTokens });
  return { ...response, headers: { ...response.headers, ...requestIdHeader(request) } };
}
