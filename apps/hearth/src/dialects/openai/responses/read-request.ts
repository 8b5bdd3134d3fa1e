import type { Conversation, Message, OutputConstraint } from "@hearth-and-keep/engine";
import type { AnswerRequest } from "../../../generation/answer-request.ts";
import type { ImagesByPlace } from "../../../images/read-images.ts";
import type { ModelDescription } from "../../../models/metadata/describe-model.ts";
import { readSettings } from "../read-settings.ts";
import { nearestEffort } from "../reasoning-effort.ts";
import { invalid } from "./invalid.ts";
import { type Items, readItems } from "./read-items.ts";
import type { ResponsesRequest } from "./schema.ts";
import { chooseTools } from "./tool-choice.ts";
import type { ToolSet } from "./tool-names.ts";

export type RequestParts = {
  readonly model: ModelDescription;
  readonly items: Items;
  readonly toolSet: ToolSet;
  readonly cachePartition: string;
  readonly images: ImagesByPlace;
};

/** What was asked, in our words. */
export function readRequest(body: ResponsesRequest, parts: RequestParts): AnswerRequest {
  const { model, items, toolSet, cachePartition, images } = parts;
  refuseUnsupported(body);
  const { toolChoice, tools } = chooseTools(body, toolSet.tools);
  const messages = withInstructions(readItems(items, images), body.instructions ?? "");
  const conversation = { messages, ...(tools.length === 0 ? {} : { tools }), ...readThinking(body, model) };
  const constraint = readFormat(body);
  return {
    model,
    input: { type: "conversation", conversation },
    toolChoice,
    ...(constraint === undefined ? {} : { constraint }),
    ...readSettings({ ...body, max_completion_tokens: body.max_output_tokens ?? null }),
    cachePartition,
    overflow: body.truncation === "auto" ? "drop-oldest" : "refuse",
  };
}

function refuseUnsupported({ background, conversation, prompt }: ResponsesRequest): void {
  if (background === true) throw invalid("background", "cannot be true: responses are not kept running here");
  for (const [place, value] of Object.entries({ conversation, prompt })) {
    if (value !== undefined && value !== null)
      throw invalid(place, "names something this server does not hold");
  }
}

/** Many templates know one system text at the very beginning, so those that stand there become one. */
function withInstructions(messages: readonly Message[], instructions: string): readonly Message[] {
  const firstOther = messages.findIndex(({ role }) => role !== "system");
  const leading = firstOther === -1 ? messages.length : firstOther;
  const texts = [instructions, ...messages.slice(0, leading).map(({ content }) => content ?? "")];
  const content = texts.filter((text) => text !== "").join("\n\n");
  const rest = messages.slice(leading);
  return content === "" ? rest : [{ role: "system", content }, ...rest];
}

type Thinking = Pick<Conversation, "thinking" | "templateVariables">;

/** A model that cannot think is not asked to: agents send the same effort to all. */
function readThinking({ reasoning }: ResponsesRequest, { capabilities }: ModelDescription): Thinking {
  const effort = reasoning?.effort ?? undefined;
  if (effort === undefined || !capabilities.includes("thinking")) return {};
  const nearest = nearestEffort(effort);
  // The one word of the schema that is no effort is "none".
  if (nearest === undefined) return { thinking: false };
  return { thinking: true, templateVariables: { reasoning_effort: nearest } };
}

function readFormat({ text }: ResponsesRequest): OutputConstraint | undefined {
  const format = text?.format;
  if (format?.type === "json_object") return { type: "json" };
  if (format?.type !== "json_schema") return undefined;
  if (format.schema === null || format.schema === undefined)
    throw invalid("text.format.schema", "is missing");
  return { type: "json-schema", schema: format.schema };
}
