import type { Conversation, Engine } from "@hearth-and-keep/engine";
import type { OutputEvent } from "./events.ts";
import type { ReasoningFormat } from "./reasoning.ts";
import type { ResolvedRequest } from "./request.ts";
import { getOutputFormat, promptOpensReasoning } from "./split-output.ts";

type Generate = (engine: Engine, request: ResolvedRequest, signal: AbortSignal) => AsyncIterable<OutputEvent>;
type ThinkingPass = { readonly conversation: Conversation; readonly format: ReasoningFormat };

/** A constrained response gets a separate thinking pass only if the client requested thinking. */
export function findThinkingPass(engine: Engine, request: ResolvedRequest): ThinkingPass | undefined {
  const { input, constraint } = request;
  if (engine.describe().splitsEvents || constraint === undefined || input.type !== "conversation")
    return undefined;
  const { conversation } = input;
  const format = getOutputFormat(engine);
  if (conversation.thinking !== true || format.type !== "tags" || format.reasoning === undefined)
    return undefined;
  return { conversation, format: format.reasoning };
}

/**
 * Generates in two passes, because a grammar leaves no room for thinking: the model first thinks without the grammar,
 * then responds under the grammar with its thinking in the prompt, which the engine has cached.
 */
export async function* thinkThenRespond(
  request: ResolvedRequest,
  { conversation, format }: ThinkingPass,
  {
    engine,
    generate,
    signal,
  }: { readonly engine: Engine; readonly generate: Generate; readonly signal: AbortSignal },
): AsyncGenerator<OutputEvent> {
  const { constraint: _constraint, callableTools: _callableTools, ...unconstrained } = request;
  const startedAt = performance.now();
  let thinkingText = "";
  let prompt = { promptTokens: 0, cachedTokens: 0 };
  for await (const event of generate(
    engine,
    { ...unconstrained, input: thinkingInput(conversation) },
    signal,
  )) {
    if (event.type === "prompt-progress") prompt = { promptTokens: event.total, cachedTokens: event.cached };
    if (event.type === "reasoning-delta") thinkingText += event.text;
    // If thinking used up all tokens, there is no second pass.
    const isDone = event.type === "generation-end" && event.reason === "length";
    if (isDone || event.type === "prompt-progress" || event.type === "reasoning-delta") yield event;
    if (isDone) return;
    if (event.type === "text-delta" && event.text.trim() !== "") break;
  }
  const thinkingTokens = (await engine.tokenize(thinkingText)).length;
  const thinkingMilliseconds = performance.now() - startedAt;
  const responseRequest: ResolvedRequest = {
    ...request,
    input: {
      type: "raw",
      prompt: await createResponsePrompt(engine, thinkingText, { conversation, format }),
    },
    maxTokens: Math.max(1, request.maxTokens - thinkingTokens),
  };
  for await (const event of generate(engine, responseRequest, signal)) {
    if (event.type === "prompt-progress") continue;
    if (event.type !== "generation-end") yield event;
    else {
      const outputTokens = event.usage.outputTokens + thinkingTokens;
      const { promptMilliseconds, outputMilliseconds } = event.timings;
      yield {
        ...event,
        usage: { ...prompt, outputTokens, reasoningTokens: thinkingTokens },
        timings: { promptMilliseconds, outputMilliseconds: outputMilliseconds + thinkingMilliseconds },
      };
    }
  }
}

function thinkingInput(conversation: Conversation): ResolvedRequest["input"] {
  return { type: "conversation", conversation: { ...conversation, tools: [] } };
}

async function createResponsePrompt(
  engine: Engine,
  thinkingText: string,
  { conversation, format }: ThinkingPass,
): Promise<string> {
  const rendered = await engine.render({ ...conversation, tools: [] });
  const isOpen = promptOpensReasoning(rendered, getOutputFormat(engine));
  const opening = isOpen ? "" : `${format.opens[0] ?? ""}\n`;
  return `${rendered}${opening}${thinkingText.trimEnd()}\n${format.close}\n\n`;
}
