import type { Conversation, Engine } from "@hearth-and-keep/engine";
import type { OutputEvent } from "./events.ts";
import type { ReasoningFormat } from "./reasoning.ts";
import type { ResolvedRequest } from "./request.ts";
import { getOutputFormat, promptOpensReasoning } from "./split-output.ts";

type Generate = (engine: Engine, request: ResolvedRequest, signal: AbortSignal) => AsyncIterable<OutputEvent>;
type FreePass = {
  readonly conversation: Conversation;
  /** Undefined if the model is not to think. */
  readonly format: ReasoningFormat | undefined;
  readonly hasTools: boolean;
};

/**
 * A constrained response gets a separate pass without the constraint if the client requested thinking, or if the model
 * may call tools instead.
 */
export function findFreePass(engine: Engine, request: ResolvedRequest): FreePass | undefined {
  const { input, constraint, toolChoice, callableTools } = request;
  if (engine.describe().splitsEvents || constraint === undefined || input.type !== "conversation")
    return undefined;
  const tools = toolChoice.type === "auto" ? (callableTools ?? input.conversation.tools ?? []) : [];
  const output = getOutputFormat(engine);
  const isThinking = input.conversation.thinking === true && output.type === "tags";
  const format = isThinking ? output.reasoning : undefined;
  if (format === undefined && tools.length === 0) return undefined;
  const conversation = {
    ...input.conversation,
    ...(tools.length === 0 ? { tools } : {}),
    ...(format === undefined ? { thinking: false } : {}),
  };
  return { conversation, format, hasTools: tools.length > 0 };
}

type PassDependencies = {
  readonly engine: Engine;
  readonly generate: Generate;
  readonly signal: AbortSignal;
};

/**
 * Characters of visible text after which no call is expected any more. Models announce a call in a sentence or two, and
 * what they write instead of one is generated again.
 */
const maxAnnouncement = 300;

/**
 * Generates in two passes, because a grammar leaves no room for thinking or calls: the model first thinks and calls
 * tools without the grammar. If it responds instead, it responds under the grammar, with its thinking in the prompt,
 * which the engine has cached. Text before a call is dropped: it does not have the format that the client parses.
 */
export async function* respondInTwoPasses(
  request: ResolvedRequest,
  pass: FreePass,
  { engine, generate, signal }: PassDependencies,
): AsyncGenerator<OutputEvent> {
  const startedAt = performance.now();
  let [thinkingText, visibleText] = ["", ""];
  let hasCalls = false;
  let prompt: PromptTokens | undefined;
  for await (const event of generate(engine, withoutConstraint(request, pass), signal)) {
    if (event.type === "prompt-progress") prompt = { promptTokens: event.total, cachedTokens: event.cached };
    if (event.type === "reasoning-delta") thinkingText += event.text;
    if (event.type === "tool-call-start" || event.type === "tool-call-fail") hasCalls = true;
    if (event.type === "text-delta") visibleText = (visibleText + event.text).trimStart();
    // If thinking used up all tokens, there is no second pass.
    const isUsedUp = event.type === "generation-end" && event.reason === "length" && visibleText === "";
    const isDone = isUsedUp || (event.type === "generation-end" && hasCalls);
    const isShared = event.type === "prompt-progress" || event.type === "reasoning-delta";
    if (isDone || isShared || (hasCalls && event.type !== "text-delta")) yield event;
    if (isDone) return;
    const mayCall = hasCalls || visibleText === "" || (pass.hasTools && mayAnnounceCall(visibleText));
    if (!mayCall) break;
  }
  const thinkingTokens = thinkingText === "" ? 0 : (await engine.tokenize(thinkingText)).length;
  const freeMilliseconds = performance.now() - startedAt;
  const response: ResolvedRequest = {
    ...request,
    input: await createResponseInput(engine, thinkingText, pass),
    maxTokens: Math.max(1, request.maxTokens - thinkingTokens),
  };
  for await (const event of generate(engine, response, signal)) {
    if (event.type === "prompt-progress") continue;
    if (event.type !== "generation-end") yield event;
    else {
      const outputTokens = event.usage.outputTokens + thinkingTokens;
      const { promptMilliseconds, outputMilliseconds } = event.timings;
      yield {
        ...event,
        usage: { ...event.usage, ...prompt, outputTokens, reasoningTokens: thinkingTokens },
        timings: { promptMilliseconds, outputMilliseconds: outputMilliseconds + freeMilliseconds },
      };
    }
  }
}

/** Whether a call may follow this text. A model that knows the format starts with it. */
function mayAnnounceCall(text: string): boolean {
  return text.length <= maxAnnouncement && !/^(?:[{["]|```)/u.test(text);
}

type PromptTokens = Pick<
  Extract<OutputEvent, { type: "generation-end" }>["usage"],
  "promptTokens" | "cachedTokens"
>;

function withoutConstraint(request: ResolvedRequest, { conversation }: FreePass): ResolvedRequest {
  const { constraint: _constraint, callableTools, ...unconstrained } = request;
  const hasTools = callableTools !== undefined && conversation.tools?.length !== 0;
  return {
    ...unconstrained,
    input: { type: "conversation", conversation },
    ...(hasTools ? { callableTools } : {}),
  };
}

async function createResponseInput(
  engine: Engine,
  thinkingText: string,
  { conversation, format }: FreePass,
): Promise<ResolvedRequest["input"]> {
  if (format === undefined) return { type: "conversation", conversation };
  const rendered = await engine.render(conversation);
  const isOpen = promptOpensReasoning(rendered, getOutputFormat(engine));
  const opening = isOpen ? "" : `${format.opens[0] ?? ""}\n`;
  return { type: "raw", prompt: `${rendered}${opening}${thinkingText.trimEnd()}\n${format.close}\n\n` };
}
