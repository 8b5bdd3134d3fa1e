import type { Conversation, Engine } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import { type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import type { HearthDependencies, HearthRequest } from "../../../dependencies.ts";
import { estimateConversation } from "../../../generation/estimate-tokens.ts";
import { applyToolChoice } from "../../../generation/generate.ts";
import { addModelMessages } from "../../../generation/run-generation.ts";
import { resolveSampling } from "../../../generation/sampling.ts";
import { createLoadRequest } from "../../../scheduling/load-request.ts";
import { requestIdHeader } from "../errors.ts";
import type { CountTokensBody } from "../schema.ts";
import { type ReadPrompt, readPrompt } from "./read-request.ts";

/** The exact prompt length that a message request would report, or an estimate if the engine cannot count. */
export async function handleCountTokens(
  request: HearthRequest<CountTokensBody>,
  { models, scheduler, fetchImage }: HearthDependencies,
): Promise<HttpResponse> {
  const prompt = addModelMessages(await readPrompt(request, { models, fetchImage }));
  using lease = await scheduler.acquire(createLoadRequest(prompt, "generate"), request.signal);
  const inputTokens = await countTokens(lease.engine, withTools(lease.engine, prompt), request.signal);
  request.addLogFields({ promptTokens: inputTokens });
  const response = jsonResponse({ input_tokens: inputTokens });
  return { ...response, headers: { ...response.headers, ...requestIdHeader(request) } };
}

async function countTokens(engine: Engine, conversation: Conversation, signal: AbortSignal): Promise<number> {
  try {
    return await engine.count(conversation, signal);
  } catch (error) {
    const cannotCount = error instanceof FailureError && error.failure.kind === "not-supported";
    if (!cannotCount) throw error;
    return estimateConversation(conversation);
  }
}

/** The conversation as the model sees it, with the tools that its template cannot show written into it. */
function withTools(engine: Engine, prompt: ReadPrompt): Conversation {
  const { input } = applyToolChoice(engine.describe(), { ...prompt, ...resolveSampling({}, {}) });
  return input.type === "conversation" ? input.conversation : prompt.input.conversation;
}
