import { type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import type { HearthRequest } from "../../../dependencies.ts";
import { countPrompt } from "../../../generation/count-prompt.ts";
import { reportLocation } from "../../../generation/run-generation.ts";
import { prepareResponse, type ResponsesDependencies } from "./prepare-response.ts";
import type { InputTokensRequest } from "./schema.ts";

/** `POST /v1/responses/input_tokens`: the prompt tokens of a response, or an estimate if the engine cannot count. */
export async function handleInputTokens(
  request: HearthRequest<InputTokensRequest>,
  dependencies: ResponsesDependencies,
): Promise<HttpResponse> {
  const { body, actor, signal, addLogFields, addResponseHeaders } = request;
  const input = body.input ?? "";
  const complete = { body: { ...body, input }, actor, signal, addLogFields, addResponseHeaders };
  const { generation } = await prepareResponse(complete, dependencies);
  reportLocation(generation.model, request);
  const inputTokens = await countPrompt(generation, dependencies.scheduler, signal);
  addLogFields({ promptTokens: inputTokens });
  return jsonResponse({ object: "response.input_tokens", input_tokens: inputTokens });
}
