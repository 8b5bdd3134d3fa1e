/**
 * @module
 * `POST /api/chat` and `POST /api/generate`. `read-request.ts` validates a request completely and rejects it with
 * Ollama's own texts where clients match them; `stream-events.ts` turns generation events into Ollama's objects.
 * Both endpoints share everything but the shape of their input and output.
 * Imported by `routes.ts`.
 */
import type { Message } from "@hearth-and-keep/engine";
import { onlyFromAdmin } from "../../../access/authenticate.ts";
import type { HearthRequest } from "../../../dependencies.ts";
import { invalidField } from "../../../failures.ts";
import type { GenerationRequest } from "../../../generation/request.ts";
import { readImages } from "../../../images/read-images.ts";
import { readKeepAlive } from "../read-keep-alive.ts";
import { readOptions } from "../read-options.ts";
import { type ResolvedModel, requireCapability } from "../resolve-model.ts";
import type { ChatBody, GenerateBody } from "../schema.ts";
import { type ContextTurn, readContext } from "./context-numbers.ts";
import { readFormat } from "./read-format.ts";
import { imageSources, messageImageSources } from "./read-images.ts";
import { readMessages, readTools } from "./read-messages.ts";
import { readThinking } from "./read-thinking.ts";

export async function readChatRequest(
  request: HearthRequest<ChatBody>,
  resolved: ResolvedModel,
): Promise<GenerationRequest> {
  const { body, signal } = request;
  const tools = readTools(body.tools);
  if (tools.length > 0) requireCapability(resolved, "tools");
  const sources = messageImageSources(body.messages ?? []);
  if (sources.length > 0) requireCapability(resolved, "vision");
  const messages = readMessages(body.messages ?? [], await readImages(sources, { signal }));
  const thinking = readThinking(body.think, resolved.model, resolved.requestedName);
  const conversation = { messages, ...(tools.length === 0 ? {} : { tools }), ...thinking };
  return readCommonFields(request, resolved, { type: "conversation", conversation });
}

export async function readGenerateRequest(
  request: HearthRequest<GenerateBody>,
  resolved: ResolvedModel,
  turns: readonly ContextTurn[],
): Promise<GenerationRequest> {
  return readCommonFields(request, resolved, await readInput(request, resolved, turns));
}

export function rejectContradictions({ raw, template, system, context, suffix }: GenerateBody): void {
  if (raw === true && (template || system || context?.length)) {
    throw invalidField("", "raw mode does not support template, system, or context");
  }
  if (template && suffix) {
    throw invalidField(
      "",
      "template cannot be combined with suffix; use raw, or a model whose template supports it",
    );
  }
}

/** The turns before the output: those encoded in `context`, the system prompt, and the prompt itself. */
export function readTurns({ system, context, prompt }: GenerateBody): readonly ContextTurn[] {
  const earlier = readContext(context);
  const earlierSystem = earlier.find(({ role }) => role === "system")?.content;
  const content = system || earlierSystem;
  return [
    ...(content === undefined ? [] : [{ role: "system", content } as const]),
    ...earlier.filter(({ role }) => role !== "system"),
    { role: "user", content: prompt ?? "" },
  ];
}

async function readInput(
  { body, signal }: HearthRequest<GenerateBody>,
  resolved: ResolvedModel,
  turns: readonly ContextTurn[],
): Promise<GenerationRequest["input"]> {
  const sources = imageSources(body.images, "images");
  if (sources.length > 0) requireCapability(resolved, "vision");
  const images = [...(await readImages(sources, { signal })).values()];
  const thinking = readThinking(body.think, resolved.model, resolved.requestedName);
  const prompt = body.prompt ?? "";
  if (body.suffix) {
    requireCapability(resolved, "insert");
    return { type: "fill-in-the-middle", prefix: prompt, suffix: body.suffix };
  }
  if (body.raw === true) return { type: "raw", prompt };
  const last: Message = { role: "user", content: prompt, ...(images.length === 0 ? {} : { images }) };
  const messages = [...turns.slice(0, -1), last];
  const goTemplate = body.template ? { goTemplate: body.template } : {};
  return { type: "conversation", conversation: { messages, ...thinking, ...goTemplate } };
}

function readCommonFields(
  { body, actor }: HearthRequest<GenerateBody | ChatBody>,
  { model }: ResolvedModel,
  input: GenerationRequest["input"],
): GenerationRequest {
  const { sampling, contextTokens, ...options } = readOptions(body.options);
  const loadSettings = onlyFromAdmin(actor, options.loadSettings);
  const keepAlive = onlyFromAdmin(actor, readKeepAlive(body.keep_alive));
  const constraint = readFormat(body.format);
  // Ollama's API has no tool choice.
  const toolChoice = { type: "auto" } as const;
  return {
    model,
    input,
    sampling,
    toolChoice,
    cachePartition: actor.cachePartition,
    overflow: body.truncate === false ? "reject" : "drop-oldest",
    ...(contextTokens === undefined ? {} : { contextTokens }),
    ...(loadSettings === undefined ? {} : { loadSettings }),
    ...(keepAlive === undefined ? {} : { keepAlive }),
    ...(constraint === undefined ? {} : { constraint }),
    ...(body.logprobs === true ? { logProbabilities: body.top_logprobs ?? 0 } : {}),
  };
}
