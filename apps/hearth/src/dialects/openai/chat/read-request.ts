import type { Conversation, JsonObject, OutputConstraint } from "@hearth-and-keep/engine";
import { type AudioByField, readAudio } from "../../../audio/read-audio.ts";
import type { HearthDependencies, HearthRequest } from "../../../dependencies.ts";
import { invalidField } from "../../../failures.ts";
import type { GenerationRequest } from "../../../generation/request.ts";
import { reportIgnored } from "../../../ignored-header.ts";
import { readImages } from "../../../images/read-images.ts";
import type { ModelDescription } from "../../../models/metadata/describe-model.ts";
import { readSettings } from "../read-settings.ts";
import { nearestEffort } from "../reasoning-effort.ts";
import { requireCapability } from "../resolve-model.ts";
import type { ChatCompletionsBody } from "../schema.ts";
import { readFiles } from "./read-files.ts";
import { audioSources, hasFiles, imageSources, omittedTypes, readMessages } from "./read-messages.ts";
import { readTools } from "./read-tools.ts";

/** Translates the body of a chat completion. */
export async function readRequest(
  request: HearthRequest<ChatCompletionsBody>,
  model: ModelDescription,
  { fetchImage, readPdf }: Pick<HearthDependencies, "fetchImage" | "readPdf">,
): Promise<GenerationRequest> {
  const { body, actor, signal } = request;
  rejectUnsupported(body);
  const { tools, toolChoice } = readTools(body);
  const support = {
    image_url: model.capabilities.includes("vision"),
    input_audio: model.capabilities.includes("audio"),
  };
  const sources = imageSources(body.messages, support);
  const sounds = audioSources(body.messages, support);
  reportIgnored(request, { tools: [], blocks: omittedTypes(body.messages, support) });
  if (sources.length > 0) requireCapability(model, body.model, "vision");
  if (sounds.length > 0) requireCapability(model, body.model, "audio");
  const images = await readImages(sources, { signal, fetchImage });
  const audio: AudioByField = sounds.length === 0 ? new Map() : readAudio(sounds);
  const wireMessages = hasFiles(body.messages)
    ? await readFiles(body.messages, { readPdf, signal })
    : body.messages;
  const messages = readMessages(wireMessages, { images, audio });
  const conversation = { messages, tools, ...readThinking(body) };
  const constraint = readConstraint(body);
  const logProbabilities = body.top_logprobs ?? (body.logprobs === true ? 0 : undefined);
  return {
    model,
    input: { type: "conversation", conversation },
    toolChoice,
    ...readSettings(body, actor),
    ...(constraint === undefined ? {} : { constraint }),
    ...(logProbabilities === undefined ? {} : { logProbabilities }),
    cachePartition: actor.cachePartition,
    overflow: "reject",
  };
}

/** Rejects fields that clients would miss if they were silently ignored. */
function rejectUnsupported(body: ChatCompletionsBody): void {
  const unsupported: Readonly<Record<string, string | false>> = {
    modalities:
      (body.modalities ?? []).some((each) => each !== "text") &&
      'must be ["text"]; audio output is not supported',
    audio: isPresent(body.audio) && "is not supported; there is no audio output",
    web_search_options:
      isPresent(body.web_search_options) && "is not supported; this server has no web search",
    functions: isPresent(body.functions) && 'is deprecated and not supported; use "tools"',
  };
  for (const [field, reason] of Object.entries(unsupported)) {
    if (reason !== false) throw invalidField(field, reason);
  }
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function readThinking(body: ChatCompletionsBody): Pick<Conversation, "thinking" | "templateVariables"> {
  // Part of the parsed JSON body.
  const variables = (body.chat_template_kwargs ?? {}) as JsonObject;
  const requested =
    body.reasoning_effort ?? body.reasoning?.effort ?? body.think ?? variables["enable_thinking"];
  const effort = typeof requested === "string" ? nearestEffort(requested) : undefined;
  const templateVariables = { ...(effort === undefined ? {} : { reasoning_effort: effort }), ...variables };
  return {
    ...(typeof requested === "string" || typeof requested === "boolean"
      ? { thinking: requested !== "none" && requested !== false }
      : {}),
    ...(Object.keys(templateVariables).length === 0 ? {} : { templateVariables }),
  };
}

function readConstraint({ response_format: format }: ChatCompletionsBody): OutputConstraint | undefined {
  if (format === undefined || format === null || format.type === "text") return undefined;
  const { schema, strict } =
    format.type === "json_schema" ? format.json_schema : { ...format, strict: false };
  if (schema === undefined || schema === null) return { type: "json" };
  return { type: "json-schema", schema, ...(strict === true ? { isStrict: true } : {}) };
}
