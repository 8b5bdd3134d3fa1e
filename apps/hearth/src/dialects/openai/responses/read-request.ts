import type { Conversation, Message, OutputConstraint } from "@hearth-and-keep/engine";
import type { Actor } from "../../../access/authenticate.ts";
import { invalidField } from "../../../failures.ts";
import type { GenerationRequest } from "../../../generation/request.ts";
import type { ImagesByField } from "../../../images/read-images.ts";
import type { ModelDescription } from "../../../models/metadata/describe-model.ts";
import { readSettings } from "../read-settings.ts";
import { nearestEffort } from "../reasoning-effort.ts";
import { type Items, readItems } from "./read-items.ts";
import type { ResponsesRequest } from "./schema.ts";
import { chooseTools } from "./tool-choice.ts";
import type { ToolSet } from "./tool-names.ts";

export type ReadRequestOptions = {
  readonly model: ModelDescription;
  readonly items: Items;
  readonly toolSet: ToolSet;
  readonly actor: Actor;
  readonly images: ImagesByField;
};

/** Translates the body of a response request. */
export function readRequest(body: ResponsesRequest, options: ReadRequestOptions): GenerationRequest {
  const { model, items, toolSet, actor, images } = options;
  rejectUnsupported(body);
  const { toolChoice, tools } = chooseTools(body, toolSet.tools);
  const messages = withInstructions(readItems(items, images), body.instructions ?? "");
  const conversation = { messages, ...(tools.length === 0 ? {} : { tools }), ...readThinking(body, model) };
  const constraint = readFormat(body);
  return {
    model,
    input: { type: "conversation", conversation },
    toolChoice,
    ...(constraint === undefined ? {} : { constraint }),
    ...readSettings({ ...body, max_completion_tokens: body.max_output_tokens ?? null }, actor),
    cachePartition: actor.cachePartition,
    overflow: body.truncation === "auto" ? "drop-oldest" : "reject",
  };
}

function rejectUnsupported({ background, conversation, prompt }: ResponsesRequest): void {
  if (background === true)
    throw invalidField("background", "must be false; background responses are not supported");
  for (const [field, value] of Object.entries({ conversation, prompt })) {
    if (value !== undefined && value !== null)
      throw invalidField(field, "is not supported; this server stores no conversations or prompts");
  }
}

/** Many templates support a single system message at the beginning, so leading ones are merged. */
function withInstructions(messages: readonly Message[], instructions: string): readonly Message[] {
  const firstOther = messages.findIndex(({ role }) => role !== "system");
  const leading = firstOther === -1 ? messages.length : firstOther;
  const texts = [instructions, ...messages.slice(0, leading).map(({ content }) => content ?? "")];
  const content = texts.filter((text) => text !== "").join("\n\n");
  const rest = messages.slice(leading);
  return content === "" ? rest : [{ role: "system", content }, ...rest];
}

type Thinking = Pick<Conversation, "thinking" | "templateVariables">;

/** Ignored for models that cannot think, because agents send the same effort to every model. */
function readThinking({ reasoning }: ResponsesRequest, { capabilities }: ModelDescription): Thinking {
  const effort = reasoning?.effort ?? undefined;
  if (effort === undefined || !capabilities.includes("thinking")) return {};
  const nearest = nearestEffort(effort);
  // "none" is the only value of the schema that is not an effort level.
  if (nearest === undefined) return { thinking: false };
  return { thinking: true, templateVariables: { reasoning_effort: nearest } };
}

function readFormat({ text }: ResponsesRequest): OutputConstraint | undefined {
  const format = text?.format;
  if (format?.type === "json_object") return { type: "json" };
  if (format?.type !== "json_schema") return undefined;
  if (format.schema === null || format.schema === undefined)
    throw invalidField("text.format.schema", "is missing");
  return { type: "json-schema", schema: format.schema };
}
