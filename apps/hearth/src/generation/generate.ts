import type {
  Engine,
  EngineDescription,
  EngineEvent,
  EngineRequest,
  Message,
  Tool,
} from "@hearth-and-keep/engine";
import type { OutputEvent } from "./events.ts";
import type { OutputMeterOptions } from "./output-meter.ts";
import type { ReasoningLimit, ResolvedRequest } from "./request.ts";
import { findFreePass, respondInTwoPasses } from "./respond-in-two-passes.ts";
import {
  getOutputFormat,
  type OutputFormat,
  type OutputPlan,
  promptOpensReasoning,
  splitOutput,
} from "./split-output.ts";
import { genericFormat } from "./tool-calls/formats.ts";

/** Without a limit in the request, a turn of forced calls must still end. */
const maxForcedCalls = 16;

/**
 * Generates on an engine: applies the tool choice, plans how to parse the output, starts the engine and splits its
 * output into events. Leaving the loop or aborting the signal stops the engine.
 */
export async function* generate(
  engine: Engine,
  request: ResolvedRequest,
  signal: AbortSignal,
): AsyncGenerator<OutputEvent> {
  if (request.maxTokens === 0) {
    yield* dropOutput(generate(engine, { ...request, maxTokens: 1 }, signal));
    return;
  }
  const generatePass = hasStrictTools(request) ? generateStrictCalls : generateOnce;
  const freePass = request.constraint === undefined ? undefined : findFreePass(engine, request);
  if (freePass === undefined) yield* generatePass(engine, request, signal);
  else yield* respondInTwoPasses(request, freePass, { engine, generate: generatePass, signal });
}

/** Required calls are generated under the grammar of their tools. */
function hasStrictTools({ input, toolChoice, callableTools }: ResolvedRequest): boolean {
  if (toolChoice.type !== "auto" || input.type !== "conversation") return false;
  return (callableTools ?? input.conversation.tools ?? []).some(({ isStrict }) => isStrict === true);
}

/** Loaded by its first use: few requests have strict tools. */
async function* generateStrictCalls(
  engine: Engine,
  request: ResolvedRequest,
  signal: AbortSignal,
): AsyncGenerator<OutputEvent> {
  const { retryInvalidCalls } = await import("./retry-invalid-calls.ts");
  yield* retryInvalidCalls(request, (attempt) => generateOnce(engine, attempt, signal));
}

async function* generateOnce(
  engine: Engine,
  request: ResolvedRequest,
  signal: AbortSignal,
): AsyncGenerator<OutputEvent> {
  const prepared = applyToolChoice(engine.describe(), request);
  const plan = await planOutput(engine, prepared);
  const countTokens: OutputMeterOptions["countTokens"] = async (text, countSignal) =>
    (await engine.tokenize(text, countSignal)).length;
  const events =
    prepared.reasoningLimit === undefined
      ? engine.generate(toEngineRequest(prepared), signal)
      : generateWithLimit(prepared, prepared.reasoningLimit, { engine, plan, signal });
  yield* splitOutput(events, plan, { signal, countTokens });
}

type PlannedOutput = { readonly engine: Engine; readonly plan: OutputPlan; readonly signal: AbortSignal };

/** Loaded by its first use: few requests limit thinking. */
async function* generateWithLimit(
  request: ResolvedRequest,
  { tokens: maxThinkingTokens }: ReasoningLimit,
  planned: PlannedOutput,
): AsyncGenerator<EngineEvent> {
  const { limitThinking } = await import("./limit-thinking.ts");
  yield* limitThinking(toEngineRequest(request), { ...planned, maxThinkingTokens });
}

const noOutput = { outputTokens: 0, reasoningTokens: 0 };

/** For a request that only evaluates its prompt: engines generate at least one token. */
async function* dropOutput(events: AsyncIterable<OutputEvent>): AsyncGenerator<OutputEvent> {
  for await (const event of events) {
    if (event.type === "prompt-progress") yield event;
    if (event.type === "generation-end") {
      yield { ...event, reason: "length", usage: { ...event.usage, ...noOutput } };
    }
  }
}

/** The request with only the tools that may be called, described in the prompt if the template cannot render them. */
export function applyToolChoice(description: EngineDescription, request: ResolvedRequest): ResolvedRequest {
  return describeToolsInPrompt(description, listCallableTools(description, selectTools(request)));
}

/** Keeps the tools that may be called and adds the constraint that forces a call if one is required. */
function selectTools(request: ResolvedRequest): ResolvedRequest {
  const { input, toolChoice, callableTools } = request;
  if (input.type !== "conversation") return request;
  const { type, toolName, maxCalls = maxForcedCalls } = toolChoice;
  const listed = type === "none" ? [] : (input.conversation.tools ?? []);
  const available = type === "none" ? [] : (callableTools ?? listed);
  const selected = available.filter(({ name }) => toolName === undefined || toolName === name);
  const isForced = type === "required" && selected.length > 0;
  const constraint = isForced
    ? ({ type: "tool-calls", tools: selected, maxCalls } as const)
    : request.constraint;
  // A grammar leaves no room for thinking, so the template must not ask for it.
  const thinking = constraint === undefined ? {} : { thinking: false };
  const tools = callableTools === undefined ? selected : listed;
  return {
    ...request,
    input: { ...input, conversation: { ...input.conversation, tools, ...thinking } },
    ...(constraint === undefined ? {} : { constraint }),
    ...(callableTools === undefined ? {} : { callableTools: selected }),
  };
}

/** An engine that parses its output itself recognizes only calls of the tools in the conversation. */
function listCallableTools(
  { templateCapabilities, splitsEvents }: EngineDescription,
  request: ResolvedRequest,
): ResolvedRequest {
  const { input, callableTools } = request;
  if (input.type !== "conversation" || callableTools === undefined) return request;
  if (!splitsEvents || templateCapabilities?.tools === false) return request;
  return { ...request, input: { ...input, conversation: { ...input.conversation, tools: callableTools } } };
}

/**
 * A template without tool support silently ignores tools. They are then described in the system message, together with
 * the format in which calls are parsed. They also stay in the conversation, for the parser.
 */
function describeToolsInPrompt(
  { templateCapabilities, splitsEvents }: EngineDescription,
  request: ResolvedRequest,
): ResolvedRequest {
  const { input } = request;
  if (input.type !== "conversation" || templateCapabilities?.tools === true) return request;
  // An engine that parses output itself also renders tools, unless it reports that its template cannot.
  if (splitsEvents && templateCapabilities === undefined) return request;
  const { tools = [], messages } = input.conversation;
  if (tools.length === 0) return request;
  const conversation = { ...input.conversation, messages: appendToSystem(messages, describeTools(tools)) };
  return { ...request, input: { ...input, conversation } };
}

function describeTools(tools: readonly Tool[]): string {
  return [
    "You can call these functions:",
    ...tools.map(({ isStrict: _isStrict, ...tool }) => JSON.stringify({ type: "function", function: tool })),
    "To call one, write a JSON object with its name and arguments between tags:",
    "<tool_call>",
    '{"name": "function name", "arguments": {"argument name": "value"}}',
    "</tool_call>",
  ].join("\n");
}

function appendToSystem(messages: readonly Message[], text: string): readonly Message[] {
  const [first, ...rest] = messages;
  if (first?.role !== "system") return [{ role: "system", content: text }, ...messages];
  return [{ role: "system", content: `${first.content}\n\n${text}` }, ...rest];
}

async function planOutput(engine: Engine, request: ResolvedRequest): Promise<OutputPlan> {
  const { stops, toolChoice } = request;
  const { maxCalls } = toolChoice;
  const parsing = await planParsing(engine, request);
  return { ...parsing, stops, ...(maxCalls === undefined ? {} : { maxCalls }) };
}

/** Chooses the format to parse: the model's own, or the one that forced calls are written in. */
async function planParsing(
  engine: Engine,
  { input, constraint, callableTools }: ResolvedRequest,
): Promise<Pick<OutputPlan, "format" | "startsInReasoning" | "tools">> {
  const { splitsEvents, templateCapabilities } = engine.describe();
  const tools = input.type === "conversation" ? (callableTools ?? input.conversation.tools ?? []) : [];
  if (splitsEvents && templateCapabilities?.tools === false && tools.length > 0) {
    // The tools are described in the prompt, so the engine does not recognize calls itself.
    return { format: plainText, startsInReasoning: false, tools };
  }
  if (splitsEvents) return { format: { type: "split" }, startsInReasoning: false, tools };
  // The output of a raw prompt is passed on unchanged.
  if (input.type !== "conversation") return { format: plainText, startsInReasoning: false, tools: [] };
  if (constraint !== undefined) {
    const isForced = constraint.type === "tool-calls";
    return { format: plainText, startsInReasoning: false, tools: isForced ? constraint.tools : [] };
  }
  const format = getOutputFormat(engine);
  const canThink = format.type === "tags" && format.reasoning !== undefined;
  const prompt = canThink ? await engine.render(input.conversation) : "";
  return { format, startsInReasoning: promptOpensReasoning(prompt, format), tools };
}

const plainText: OutputFormat = { type: "tags", reasoning: undefined, toolCalls: genericFormat };

function toEngineRequest(request: ResolvedRequest): EngineRequest {
  const { input, sampling, maxTokens, reasoningLimit, constraint, logProbabilities, cachePartition } =
    request;
  const { caller, onAddress } = request;
  return {
    input,
    sampling,
    maxTokens,
    cachePartition,
    ...(caller === undefined ? {} : { caller }),
    ...(onAddress === undefined ? {} : { onAddress }),
    ...(reasoningLimit === undefined ? {} : { maxReasoningTokens: reasoningLimit.tokens }),
    ...(constraint === undefined ? {} : { constraint }),
    ...(logProbabilities === undefined ? {} : { logProbabilities }),
  };
}
