import type { Conversation, JsonObject, OutputConstraint } from "@hearth-and-keep/engine";
import type { HearthCall, HearthParts } from "../../dependencies.ts";
import { requestFailure } from "../../failures.ts";
import type { AnswerRequest } from "../../generation/answer-request.ts";
import { readImages } from "../../images/read-images.ts";
import type { ModelDescription } from "../../models/metadata/describe-model.ts";
import { imageSources, readMessages } from "./read-messages.ts";
import { readSettings } from "./read-settings.ts";
import { readTools } from "./read-tools.ts";
import { nearestEffort } from "./reasoning-effort.ts";
import { requireCapability } from "./require-model.ts";
import type { ChatCompletionsBody } from "./schema.ts";

/** What a chat completion asks for, in our words. */
export async function readChatRequest(
  { body, caller, signal }: HearthCall<ChatCompletionsBody>,
  model: ModelDescription,
  { fetchImage }: Pick<HearthParts, "fetchImage">,
): Promise<AnswerRequest> {
  refuseUnsupported(body);
  const { tools, toolChoice } = readTools(body);
  const named = { name: body.model, capabilities: model.capabilities };
  const sources = imageSources(body.messages);
  if (sources.length > 0) requireCapability(named, body.model, "vision");
  const images = await readImages(sources, { signal, fetchImage });
  const messages = readMessages(body.messages, { model: named, images });
  const conversation = { messages, tools, ...readThinking(body) };
  const constraint = readConstraint(body);
  const logProbabilities = body.top_logprobs ?? (body.logprobs === true ? 0 : undefined);
  return {
    model,
    input: { type: "conversation", conversation },
    toolChoice,
    ...readSettings(body),
    ...(constraint === undefined ? {} : { constraint }),
    ...(logProbabilities === undefined ? {} : { logProbabilities }),
    cachePartition: caller.cachePartition,
    overflow: "refuse",
  };
}

/** What would be missed if it were ignored. */
function refuseUnsupported(body: ChatCompletionsBody): void {
  const wants: Readonly<Record<string, string | false>> = {
    modalities:
      (body.modalities ?? []).some((each) => each !== "text") && "must be text: no model here speaks",
    audio: isGiven(body.audio) && "asks for spoken answers, which no model here gives",
    web_search_options:
      isGiven(body.web_search_options) && "asks for a web search, which this server does not do",
    functions: isGiven(body.functions) && 'is the old form of "tools"; send those',
  };
  for (const [place, reason] of Object.entries(wants)) {
    if (reason !== false) throw requestFailure({ kind: "request-invalid", place, reason });
  }
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function readThinking(body: ChatCompletionsBody): Pick<Conversation, "thinking" | "templateVariables"> {
  // Came as JSON with the body.
  const given = (body.chat_template_kwargs ?? {}) as JsonObject;
  const wish = body.reasoning_effort ?? body.reasoning?.effort ?? body.think ?? given["enable_thinking"];
  const effort = typeof wish === "string" ? nearestEffort(wish) : undefined;
  const templateVariables = { ...(effort === undefined ? {} : { reasoning_effort: effort }), ...given };
  return {
    ...(typeof wish === "string" || typeof wish === "boolean"
      ? { thinking: wish !== "none" && wish !== false }
      : {}),
    ...(Object.keys(templateVariables).length === 0 ? {} : { templateVariables }),
  };
}

function readConstraint({ response_format: format }: ChatCompletionsBody): OutputConstraint | undefined {
  if (format === undefined || format === null || format.type === "text") return undefined;
  const schema = format.type === "json_schema" ? format.json_schema.schema : format.schema;
  return schema === undefined || schema === null ? { type: "json" } : { type: "json-schema", schema };
}
