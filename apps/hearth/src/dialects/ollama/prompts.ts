import { type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import type { HearthDependencies, HearthRequest } from "../../dependencies.ts";
import { renderPrompt } from "../../generation/count-prompt.ts";
import { reportLocation } from "../../generation/run-generation.ts";
import { createLoadRequest } from "../../scheduling/load-request.ts";
import { readChatRequest } from "./generation/read-request.ts";
import { requireCapability, requireName, resolveModel } from "./resolve-model.ts";
import type { ChatBody, TokenizeBody } from "./schema.ts";

/** `POST /api/tokenize`, Hearth's own: the tokens of a text, as the model's vocabulary has them. */
export async function handleTokenize(
  request: HearthRequest<TokenizeBody>,
  { models, scheduler }: HearthDependencies,
): Promise<HttpResponse> {
  const { body, signal, addLogFields } = request;
  const { model, requestedName } = await resolveModel(models, requireName(body));
  addLogFields({ model: model.name });
  reportLocation(model, request);
  const purpose = model.capabilities.includes("completion") ? "generate" : "embed";
  using lease = await scheduler.acquire(createLoadRequest({ model }, purpose), signal);
  const tokens = await lease.engine.tokenize(body.prompt, signal);
  return jsonResponse({ model: requestedName, tokens, count: tokens.length });
}

/** `POST /api/render`, Hearth's own: the prompt that a chat would give the model, and its number of tokens. */
export async function handleRender(
  request: HearthRequest<ChatBody>,
  { models, scheduler }: HearthDependencies,
): Promise<HttpResponse> {
  const resolved = await resolveModel(models, requireName(request.body));
  requireCapability(resolved, "completion", "chat");
  request.addLogFields({ model: resolved.model.name });
  reportLocation(resolved.model, request);
  const { prompt, tokens } = await renderPrompt(
    await readChatRequest(request, resolved),
    scheduler,
    request.signal,
  );
  return jsonResponse({ model: resolved.requestedName, prompt, prompt_eval_count: tokens });
}
