import type { Conversation, OutputConstraint } from "@hearth-and-keep/engine";
import type { HearthCall, HearthParts } from "../../dependencies.ts";
import { requestFailure } from "../../failures.ts";
import type { AnswerRequest } from "../../generation/answer-request.ts";
import type { SamplingWishes } from "../../generation/sampling.ts";
import { readImages } from "../../images/read-images.ts";
import type { ModelDescription } from "../../models/metadata/describe-model.ts";
import { readConversation } from "./read-conversation.ts";
import { imageSources } from "./read-image.ts";
import { readTools } from "./read-tools.ts";
import type { CountTokensBody, MessagesBody } from "./schema.ts";

/** What is asked of the model, without what only matters once it writes. */
export type ReadPrompt = Pick<AnswerRequest, "model" | "toolChoice" | "constraint" | "cachePartition"> & {
  readonly input: { readonly type: "conversation"; readonly conversation: Conversation };
};

/** Reads everything that a count and an answer have in common, so that both have the same prompt. */
export async function readPrompt(
  { body, caller, note, signal }: HearthCall<CountTokensBody>,
  { models, fetchImage }: Pick<HearthParts, "models" | "fetchImage">,
): Promise<ReadPrompt> {
  note({ model: body.model });
  const model = await models.describe(body.model);
  requireCapability(model, "completion");
  const sources = imageSources(body.messages);
  if (sources.length > 0) requireCapability(model, "vision");
  const images = await readImages(sources, { signal, fetchImage });
  const { messages, skippedBlocks } = readConversation(body, { chatTemplate: model.chatTemplate, images });
  const { tools, toolChoice, droppedTools } = readTools(body);
  if (skippedBlocks > 0) note({ skippedBlocks });
  if (droppedTools > 0) note({ droppedTools });
  const constraint = readConstraint(body);
  return {
    model,
    input: {
      type: "conversation",
      conversation: { messages, ...(tools.length === 0 ? {} : { tools }), ...readThinking(body) },
    },
    toolChoice,
    cachePartition: caller.cachePartition,
    ...(constraint === undefined ? {} : { constraint }),
  };
}

function requireCapability(
  { name, capabilities }: ModelDescription,
  capability: "completion" | "vision",
): void {
  if (!capabilities.includes(capability)) {
    throw requestFailure({ kind: "capability-lacking", model: name, capability });
  }
}

function readConstraint({
  output_config: config,
  output_format: older,
}: CountTokensBody): OutputConstraint | undefined {
  const format = config?.format ?? older;
  return format ? { type: "json-schema", schema: format.schema } : undefined;
}

/** Who does not ask for thinking gets none; `adaptive` leaves it to the model. */
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

/** Templates know three steps; the two above them are this family's own. */
const efforts: Readonly<Record<string, string>> = { xhigh: "high", max: "high" };

export function readSampling(body: MessagesBody): SamplingWishes {
  const stops = stopsOf(body);
  const wishes = {
    temperature: body.temperature,
    topP: body.top_p,
    topK: body.top_k,
    seed: body.seed,
    frequencyPenalty: body.frequency_penalty,
  };
  return {
    ...Object.fromEntries(Object.entries(wishes).filter(([, value]) => typeof value === "number")),
    mostTokens: body.max_tokens,
    ...(stops.length === 0 ? {} : { stops }),
  };
}

export function stopsOf({ stop_sequences: sequences, stop }: MessagesBody): readonly string[] {
  const more = typeof stop === "string" ? [stop] : (stop ?? []);
  return [...(sequences ?? []), ...more];
}
