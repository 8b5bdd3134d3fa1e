import type { Conversation, Engine } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import { type Answer, jsonAnswer } from "@hearth-and-keep/http-service";
import type { HearthCall, HearthParts } from "../../dependencies.ts";
import { withModelTurns } from "../../generation/answer-request.ts";
import { estimateConversation } from "../../generation/estimate-tokens.ts";
import { showTools } from "../../generation/generate.ts";
import { wishFor } from "../../generation/load-request.ts";
import { settleSampling } from "../../generation/sampling.ts";
import { requestIdHeader } from "./errors.ts";
import { type ReadPrompt, readPrompt } from "./read-request.ts";
import type { CountTokensBody } from "./schema.ts";

/** The very count that an answer to the same request would begin with, or an estimate where the engine cannot count. */
export async function answerCountTokens(
  call: HearthCall<CountTokensBody>,
  { models, scheduler, fetchImage }: HearthParts,
): Promise<Answer> {
  const prompt = withModelTurns(await readPrompt(call, { models, fetchImage }));
  using lease = await scheduler.lend(wishFor(prompt, "generate"), call.signal);
  const inputTokens = await count(lease.engine, shownTo(lease.engine, prompt), call.signal);
  call.note({ promptTokens: inputTokens });
  const answer = jsonAnswer({ input_tokens: inputTokens });
  return { ...answer, headers: { ...answer.headers, ...requestIdHeader(call) } };
}

async function count(engine: Engine, conversation: Conversation, signal: AbortSignal): Promise<number> {
  try {
    return await engine.count(conversation, signal);
  } catch (problem) {
    const isUncounted = problem instanceof FailureError && problem.failure.kind === "not-supported";
    if (!isUncounted) throw problem;
    return estimateConversation(conversation);
  }
}

/** The conversation as the model sees it when it answers. */
function shownTo(engine: Engine, prompt: ReadPrompt): Conversation {
  const { input } = showTools(engine.describe(), { ...prompt, ...settleSampling({}, {}) });
  return input.type === "conversation" ? input.conversation : prompt.input.conversation;
}
