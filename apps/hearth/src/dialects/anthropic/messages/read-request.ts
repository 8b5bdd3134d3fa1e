import type { Conversation, OutputConstraint } from "@hearth-and-keep/engine";
import type { HearthDependencies, HearthRequest } from "../../../dependencies.ts";
import type { GenerationRequest } from "../../../generation/request.ts";
import type { SamplingOptions } from "../../../generation/sampling.ts";
import { readImages } from "../../../images/read-images.ts";
import { requireCapability, resolveModel } from "../resolve-model.ts";
import type { CountTokensBody, MessagesBody } from "../schema.ts";
import { readConversation } from "./read-conversation.ts";
import { imageSources } from "./read-images.ts";
import { readTools } from "./read-tools.ts";

/** The prompt of a request, without the settings that only matter for generation. */
export type ReadPrompt = Pick<GenerationRequest, "model" | "toolChoice" | "constraint" | "cachePartition"> & {
  readonly input: { readonly type: "conversation"; readonly conversation: Conversation };
};

/** Shared by token counts and messages, so that a count is exact for the message it precedes. */
export async function readPrompt(
  request: HearthRequest<CountTokensBody>,
  { models, fetchImage }: Pick<HearthDependencies, "models" | "fetchImage">,
): Promise<ReadPrompt> {
  const { body, actor, addLogFields, signal } = request;
  const model = await resolveModel(request, { models }, "completion");
  const sources = imageSources(body.messages);
  if (sources.length > 0) requireCapability(model, "vision");
  const images = await readImages(sources, { signal, fetchImage });
  const { messages, skippedBlocks } = readConversation(body, { chatTemplate: model.chatTemplate, images });
  const { tools, toolChoice, droppedTools } = readTools(body);
  if (skippedBlocks > 0) addLogFields({ skippedBlocks });
  if (droppedTools > 0) addLogFields({ droppedTools });
  const constraint = readConstraint(body);
  return {
    model,
    input: {
      type: "conversation",
      conversation: { messages, ...(tools.length === 0 ? {} : { tools }), ...readThinking(body) },
    },
    toolChoice,
    cachePartition: actor.cachePartition,
    ...(constraint === undefined ? {} : { constraint }),
  };
}

function readConstraint({
  output_config: config,
  output_format: older,
}: CountTokensBody): OutputConstraint | undefined {
  const format = config?.format ?? older;
  return format ? { type: "json-schema", schema: format.schema } : undefined;
}

/** Thinking is off unless requested; `adaptive` leaves it to the model. */
function readThinking({
  thinking,
  output_config: config,
}: CountTokensBody): Pick<Conversation, "thinking" | "templateVariables"> {
  const isAdaptive = thinking?.type === "adaptive";
  const effort = config?.effort ?? undefined;
  return {
    ...(isAdaptive ? {} : { thinking: thinking?.type === "enabled" }),
    ...(effort === undefined ? {} : { templateVariables: { reasoning_effort: efforts[effort] ?? effort } }),
  };
}

/** Chat templates know three levels; Anthropic has two more above them. */
const efforts: Readonly<Record<string, string>> = { xhigh: "high", max: "high" };

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
