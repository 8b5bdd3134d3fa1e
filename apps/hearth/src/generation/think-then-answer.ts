import type { Conversation, Engine } from "@hearth-and-keep/engine";
import type { GenerationEvent } from "./events.ts";
import type { ReasoningFormat } from "./reasoning-formats.ts";
import type { GenerationRequest } from "./request.ts";
import { detectAnswerFormat, promptOpensReasoning } from "./split-answer.ts";

type Generate = (
  engine: Engine,
  request: GenerationRequest,
  signal: AbortSignal,
) => AsyncIterable<GenerationEvent>;
type Thinking = { readonly conversation: Conversation; readonly format: ReasoningFormat };

/** Whether an answer that must keep a form is to be thought about first: only when the caller asked for thoughts. */
export function thinkingBefore(engine: Engine, request: GenerationRequest): Thinking | undefined {
  const { input, constraint } = request;
  const { splitsEvents, chatTemplate } = engine.describe();
  if (splitsEvents || constraint === undefined || input.type !== "conversation") return undefined;
  const { conversation } = input;
  const format = detectAnswerFormat(chatTemplate);
  if (conversation.thinking !== true || format.type !== "tags" || format.reasoning === undefined)
    return undefined;
  return { conversation, format: format.reasoning };
}

/**
 * A grammar leaves no room for thoughts, so the model thinks without it, and writes its answer within it behind its
 * own thoughts, which the engine then has in its cache.
 */
export async function* thinkThenAnswer(
  request: GenerationRequest,
  { conversation, format }: Thinking,
  {
    engine,
    generate,
    signal,
  }: { readonly engine: Engine; readonly generate: Generate; readonly signal: AbortSignal },
): AsyncGenerator<GenerationEvent> {
  const { constraint: _constraint, ...free } = request;
  const startedAt = performance.now();
  let thought = "";
  let prompt = { promptTokens: 0, cachedTokens: 0 };
  for await (const event of generate(engine, { ...free, input: thinkingInput(conversation) }, signal)) {
    if (event.type === "prompt-progress") prompt = { promptTokens: event.total, cachedTokens: event.cached };
    if (event.type === "reasoning-delta") thought += event.text;
    // Thoughts that used up all tokens are the whole answer.
    const isOver = event.type === "generation-end" && event.reason === "length";
    if (isOver || event.type === "prompt-progress" || event.type === "reasoning-delta") yield event;
    if (isOver) return;
    if (event.type === "text-delta" && event.text.trim() !== "") break;
  }
  const thoughtTokens = (await engine.tokenize(thought)).length;
  const thoughtMilliseconds = performance.now() - startedAt;
  const answering: GenerationRequest = {
    ...request,
    input: { type: "raw", prompt: await promptBehind(engine, thought, { conversation, format }) },
    mostTokens: Math.max(1, request.mostTokens - thoughtTokens),
  };
  for await (const event of generate(engine, answering, signal)) {
    if (event.type === "prompt-progress") continue;
    if (event.type !== "generation-end") yield event;
    else {
      const outputTokens = event.usage.outputTokens + thoughtTokens;
      const { promptMilliseconds, outputMilliseconds } = event.timings;
      yield {
        ...event,
        usage: { ...prompt, outputTokens, reasoningTokens: thoughtTokens },
        timings: { promptMilliseconds, outputMilliseconds: outputMilliseconds + thoughtMilliseconds },
      };
    }
  }
}

function thinkingInput(conversation: Conversation): GenerationRequest["input"] {
  return { type: "conversation", conversation: { ...conversation, tools: [] } };
}

async function promptBehind(engine: Engine, thought: string, thinking: Thinking): Promise<string> {
  const { conversation, format } = thinking;
  const rendered = await engine.render({ ...conversation, tools: [] });
  const isOpen = promptOpensReasoning(rendered, detectAnswerFormat(engine.describe().chatTemplate));
  const opening = isOpen ? "" : `${format.opens[0] ?? ""}\n`;
  return `${rendered}${opening}${thought.trimEnd()}\n${format.close}\n\n`;
}
