import type { Conversation, Engine } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import { createLoadRequest } from "../scheduling/load-request.ts";
import type { Scheduler } from "../scheduling/scheduler.ts";
import { estimateConversation } from "./estimate-tokens.ts";
import { applyToolChoice } from "./generate.ts";
import type { GenerationRequest } from "./request.ts";
import { addModelMessages } from "./run-generation.ts";
import { resolveSampling } from "./sampling.ts";

/** What determines the prompt of a request. */
export type CountedRequest = Omit<GenerationRequest, "sampling" | "overflow">;

/** The prompt tokens that a generation would report, or an estimate if the engine cannot count. */
export async function countPrompt(
  request: CountedRequest,
  scheduler: Pick<Scheduler, "acquire">,
  signal: AbortSignal,
): Promise<number> {
  const prompt = addModelMessages(request);
  using lease = await scheduler.acquire(createLoadRequest(prompt, "generate"), signal);
  return await countConversation(lease.engine, withTools(lease.engine, prompt), signal);
}

/** The prompt of a request as the model's template renders it, with its tokens. */
export async function renderPrompt(
  request: CountedRequest,
  scheduler: Pick<Scheduler, "acquire">,
  signal: AbortSignal,
): Promise<{ readonly prompt: string; readonly tokens: number }> {
  const prompt = addModelMessages(request);
  using lease = await scheduler.acquire(createLoadRequest(prompt, "generate"), signal);
  const conversation = withTools(lease.engine, prompt);
  return {
    prompt: await lease.engine.render(conversation),
    tokens: await countConversation(lease.engine, conversation, signal),
  };
}

async function countConversation(
  engine: Engine,
  conversation: Conversation,
  signal: AbortSignal,
): Promise<number> {
  try {
    return await engine.count(conversation, signal);
  } catch (error) {
    const cannotCount = error instanceof FailureError && error.failure.kind === "not-supported";
    if (!cannotCount) throw error;
    return estimateConversation(conversation);
  }
}

/** The conversation as the model sees it, with the tools that its template cannot show written into it. */
function withTools(engine: Engine, prompt: CountedRequest): Conversation {
  const { input } = applyToolChoice(engine.describe(), { ...prompt, ...resolveSampling({}, {}) });
  return input.type === "conversation" ? input.conversation : { messages: [] };
}
