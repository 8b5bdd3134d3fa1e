import type { Conversation, Message, OutputConstraint } from "@hearth-and-keep/engine";
import type { Actor } from "../../../access/authenticate.ts";
import { invalidField } from "../../../failures.ts";
import type { GenerationRequest } from "../../../generation/request.ts";
import type { ModelDescription } from "../../../models/metadata/describe-model.ts";
import { readSettings } from "../read-settings.ts";
import { nearestEffort } from "../reasoning-effort.ts";
import type { ResponsesRequest } from "./schema.ts";
import { chooseTools } from "./tool-choice.ts";
import type { ToolSet } from "./tool-names.ts";

export type ReadRequestOptions = {
  readonly model: ModelDescription;
  readonly messages: readonly Message[];
  readonly toolSet: ToolSet;
  readonly actor: Actor;
};

/** Translates the body of a response request. */
export function readRequest(body: ResponsesRequest, options: ReadRequestOptions): GenerationRequest {
  const { model, toolSet, actor } = options;
  rejectUnsupported(body);
  const { toolChoice, tools: callableTools } = chooseTools(body, toolSet.tools);
  const { listed: tools = callableTools } = toolSet;
  const messages = withInstructions(options.messages, body.instructions ?? "");
  const conversation = { messages, ...(tools.length === 0 ? {} : { tools }), ...readThinking(body, model) };
  const constraint = readFormat(body);
  return {
    model,
    input: { type: "conversation", conversation },
    toolChoice,
    ...(toolSet.listed === undefined ? {} : { callableTools }),
    ...(constraint === undefined ? {} : { constraint }),
    ...withoutDefaultLimit(
      readSettings({ ...body, max_completion_tokens: body.max_output_tokens ?? null }, actor),
      model,
    ),
    ...readLogProbabilities(body),
    cachePartition: actor.cachePartition,
    overflow: body.truncation === "auto" ? "drop-oldest" : "reject",
  };
}

type Settings = ReturnType<typeof readSettings>;

/** Without a limit a response may fill the context: agents send none, and take a cut response for a failed one. */
function withoutDefaultLimit(settings: Settings, { parameters }: ModelDescription): Settings {
  const limit = settings.sampling.maxTokens ?? parameters.values.maxTokens;
  return limit === undefined ? { ...settings, sampling: { ...settings.sampling, maxTokens: -1 } } : settings;
}

function readLogProbabilities({
  include,
  top_logprobs: alternatives,
}: ResponsesRequest): Pick<GenerationRequest, "logProbabilities"> {
  const isIncluded = include?.includes("message.output_text.logprobs") === true;
  return isIncluded ? { logProbabilities: alternatives ?? 0 } : {};
}

function rejectUnsupported({ background, prompt }: ResponsesRequest): void {
  if (background === true)
    throw invalidField("background", "must be false; background responses are not supported");
  if (prompt !== undefined && prompt !== null)
    throw invalidField("prompt", "is not supported; this server stores no prompts");
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
  return {
    type: "json-schema",
    schema: format.schema,
    ...(format.strict === true ? { isStrict: true } : {}),
  };
}
