import type { Engine, EngineDescription, GenerateRequest } from "@hearth-and-keep/engine";
import type { AnswerParts } from "./answer-meter.ts";
import type { GenerationEvent } from "./events.ts";
import type { GenerationRequest } from "./request.ts";
import {
  type AnswerFormat,
  type AnswerPlan,
  detectAnswerFormat,
  promptOpensReasoning,
  splitAnswer,
} from "./split-answer.ts";
import { tellTools } from "./tell-tools.ts";
import { thinkingBefore, thinkThenAnswer } from "./think-then-answer.ts";
import { genericFormat } from "./tool-calls/formats.ts";

/** With no limit asked for, a forced turn still has to end. */
const mostForcedCalls = 16;

/**
 * Has an engine answer. Five steps: decide which tools the model sees, show them to it, ask whether the prompt
 * leaves it thinking, start it, and split what it says. Leaving the loop, or the signal, ends it.
 */
export async function* generate(
  engine: Engine,
  request: GenerationRequest,
  signal: AbortSignal,
): AsyncGenerator<GenerationEvent> {
  const thinking = thinkingBefore(engine, request);
  if (thinking !== undefined) {
    yield* thinkThenAnswer(request, thinking, { engine, generate, signal });
    return;
  }
  const shown = showTools(engine.describe(), request);
  const plan = await planAnswer(engine, shown);
  const countTokens: AnswerParts["countTokens"] = async (text, both) =>
    (await engine.tokenize(text, both)).length;
  yield* splitAnswer(engine.generate(engineRequest(shown), signal), plan, { signal, countTokens });
}

/** The request as the model sees it: only with tools it may call, told in words where its template cannot. */
export function showTools(description: EngineDescription, request: GenerationRequest): GenerationRequest {
  return tellTools(description, offerTools(request));
}

/** The conversation with those tools that may be called, and the constraint that forces a call when one must be. */
function offerTools(request: GenerationRequest): GenerationRequest {
  const { input, toolChoice } = request;
  if (input.type !== "conversation") return request;
  const { type, toolName, mostCalls = mostForcedCalls } = toolChoice;
  const all = type === "none" ? [] : (input.conversation.tools ?? []);
  const tools = all.filter(({ name }) => toolName === undefined || toolName === name);
  const isForced = type === "required" && tools.length > 0;
  const constraint = isForced ? ({ type: "tool-calls", tools, mostCalls } as const) : request.constraint;
  // A grammar leaves no room for thoughts, so the template must not ask for them.
  const thinking = constraint === undefined ? {} : { thinking: false };
  return {
    ...request,
    input: { ...input, conversation: { ...input.conversation, tools, ...thinking } },
    ...(constraint === undefined ? {} : { constraint }),
  };
}

async function planAnswer(engine: Engine, request: GenerationRequest): Promise<AnswerPlan> {
  const { stops, toolChoice } = request;
  const { mostCalls } = toolChoice;
  const reading = await planReading(engine, request);
  return { ...reading, stops, ...(mostCalls === undefined ? {} : { mostCalls }) };
}

/** How the answer is to be read: by the model's own format, or by the one a forced call is written in. */
async function planReading(
  engine: Engine,
  { input, constraint }: GenerationRequest,
): Promise<Pick<AnswerPlan, "format" | "startsInReasoning" | "tools">> {
  const { splitsEvents, chatTemplate, templateAbilities } = engine.describe();
  const told =
    templateAbilities?.tools === false && input.type === "conversation" ? input.conversation.tools : [];
  if (splitsEvents && told !== undefined && told.length > 0) {
    // The tools were told in words, so the engine does not know a call when it writes one.
    return { format: plainText, startsInReasoning: false, tools: told };
  }
  if (splitsEvents) return { format: { type: "split" }, startsInReasoning: false, tools: [] };
  // A raw prompt is the caller's own business: its answer is given as it comes.
  if (input.type !== "conversation") return { format: plainText, startsInReasoning: false, tools: [] };
  const tools = input.conversation.tools ?? [];
  if (constraint !== undefined) {
    const isForced = constraint.type === "tool-calls";
    return { format: plainText, startsInReasoning: false, tools: isForced ? constraint.tools : [] };
  }
  const format = detectAnswerFormat(chatTemplate);
  const mayThink = format.type === "tags" && format.reasoning !== undefined;
  const prompt = mayThink ? await engine.render(input.conversation) : "";
  return { format, startsInReasoning: promptOpensReasoning(prompt, format), tools };
}

const plainText: AnswerFormat = { type: "tags", reasoning: undefined, toolCalls: genericFormat };

function engineRequest(request: GenerationRequest): GenerateRequest {
  const { input, sampling, mostTokens, constraint, logProbabilities, cachePartition } = request;
  return {
    input,
    sampling,
    mostTokens,
    cachePartition,
    ...(constraint === undefined ? {} : { constraint }),
    ...(logProbabilities === undefined ? {} : { logProbabilities }),
  };
}
