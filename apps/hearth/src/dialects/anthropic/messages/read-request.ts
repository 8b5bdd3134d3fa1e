import type { Conversation, OutputConstraint } from "@hearth-and-keep/engine";
import type { HearthDependencies, HearthRequest } from "../../../dependencies.ts";
import type { GenerationRequest } from "../../../generation/request.ts";
import type { SamplingOptions } from "../../../generation/sampling.ts";
import { reportIgnored } from "../../../ignored-header.ts";
import { readImages } from "../../../images/read-images.ts";
import { resolveModel } from "../resolve-model.ts";
import type { CountTokensBody, MessagesBody } from "../schema.ts";
import { readConversation } from "./read-conversation.ts";
import { imageSources } from "./read-images.ts";
import { readPdfs } from "./read-pdfs.ts";
import { findRequiredServerTool, readToolChoice, readTools } from "./read-tools.ts";
import type { RequiredServerTool } from "./server-tools.ts";
import { Toolset } from "./toolset.ts";

/** The prompt of a request, without the settings that only matter for generation. */
export type ReadPrompt = Pick<
  GenerationRequest,
  "model" | "toolChoice" | "callableTools" | "constraint" | "cachePartition"
> & {
  readonly input: { readonly type: "conversation"; readonly conversation: Conversation };
  /** Set if the model would have to use a tool that only Anthropic's servers run. */
  readonly requiredServerTool?: RequiredServerTool;
};

/** Shared by token counts and messages, so that a count is exact for the message it precedes. */
export async function readPrompt(
  request: HearthRequest<CountTokensBody>,
  { models, fetchImage, readPdf }: Pick<HearthDependencies, "models" | "fetchImage" | "readPdf">,
): Promise<ReadPrompt> {
  const { body, actor, signal } = request;
  const model = await resolveModel(request, { models }, "completion");
  const images = model.capabilities.includes("vision")
    ? await readImages(imageSources(body.messages), { signal, fetchImage })
    : undefined;
  const pdfTexts = await readPdfs(body.messages, { signal, readPdf });
  const declared = readTools(body.tools);
  const toolset = new Toolset(declared.listed, declared.deferred);
  const context = { chatTemplate: model.chatTemplate, images, pdfTexts, toolset };
  const { messages, skippedBlocks } = readConversation(body, context);
  const toolChoice = readToolChoice(body.tool_choice, toolset, declared);
  const { listed: tools, droppedTools } = declared;
  reportIgnored(request, { tools: droppedTools, blocks: skippedBlocks });
  const { changedTools: callableTools } = toolset;
  const constraint = readConstraint(body);
  const requiredServerTool = findRequiredServerTool(body.tool_choice, declared);
  const conversation = { messages, ...(tools.length === 0 ? {} : { tools }), ...readThinking(body) };
  return {
    model,
    input: { type: "conversation", conversation },
    toolChoice,
    cachePartition: actor.cachePartition,
    ...(callableTools === undefined ? {} : { callableTools }),
    ...(constraint === undefined ? {} : { constraint }),
    ...(requiredServerTool === undefined ? {} : { requiredServerTool }),
  };
}

function readConstraint({
  output_config: config,
  output_format: older,
}: CountTokensBody): OutputConstraint | undefined {
  const format = config?.format ?? older;
  return format ? { type: "json-schema", schema: format.schema } : undefined;
}

function readThinking(body: CountTokensBody): Pick<Conversation, "thinking" | "templateVariables"> {
  const { messages, output_config: config } = body;
  const thinking = isThinkingRequested(body);
  // A system message changes the effort for the turns after it.
  const changed = messages.findLast((message) => typeof message.output_config?.effort === "string");
  const effort = changed?.output_config?.effort ?? config?.effort ?? undefined;
  return {
    ...(thinking === undefined ? {} : { thinking }),
    ...(effort === undefined ? {} : { templateVariables: { reasoning_effort: efforts[effort] ?? effort } }),
  };
}

/** Thinking is off unless requested; undefined leaves it to the model. */
export function isThinkingRequested({ thinking, messages }: CountTokensBody): boolean | undefined {
  switch (thinking?.type) {
    case "enabled":
      return true;
    case "adaptive":
      return undefined;
    case "between_tools":
      return hasToolResult(messages.at(-1)?.content);
    case "disabled":
    case undefined:
      return false;
  }
}

function hasToolResult(content: CountTokensBody["messages"][number]["content"]): boolean {
  return typeof content === "object" && content.some(({ type }) => type === "tool_result");
}

/** Chat templates know three levels; Anthropic has two more above them. */
const efforts: Readonly<Record<string, string>> = { xhigh: "high", max: "high" };

/** Budgets of any size: the smallest one of Anthropic's API is more than the context of many local models. */
export function readReasoningLimit({ thinking }: MessagesBody): Pick<GenerationRequest, "reasoningLimit"> {
  const tokens = thinking?.budget_tokens ?? undefined;
  return tokens === undefined ? {} : { reasoningLimit: { tokens, field: "thinking.budget_tokens" } };
}

export function readSampling(body: MessagesBody): SamplingOptions {
  const stops = stopsOf(body);
  const numbers = {
    temperature: body.temperature,
    topP: body.top_p,
    topK: body.top_k,
    seed: body.seed,
    frequencyPenalty: body.frequency_penalty,
  };
  return {
    ...Object.fromEntries(Object.entries(numbers).filter(([, value]) => typeof value === "number")),
    maxTokens: body.max_tokens,
    ...(stops.length === 0 ? {} : { stops }),
  };
}

export function stopsOf({ stop_sequences: sequences, stop }: MessagesBody): readonly string[] {
  const more = typeof stop === "string" ? [stop] : (stop ?? []);
  return [...(sequences ?? []), ...more];
}
