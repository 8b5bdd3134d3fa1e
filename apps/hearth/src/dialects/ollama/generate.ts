import type { Message } from "@hearth-and-keep/engine";
import type { Answer } from "@hearth-and-keep/http-service";
import type { HearthCall, HearthParts } from "../../dependencies.ts";
import { requestFailure } from "../../failures.ts";
import type { AnswerRequest } from "../../generation/answer-request.ts";
import { readImages } from "../../images/read-images.ts";
import { readGeneration } from "./generation-request.ts";
import { answerLoadOnly } from "./load-only.ts";
import { type RememberedTurn, readContext, writeContext } from "./reading/context-numbers.ts";
import { imageSources } from "./reading/images.ts";
import { readThinking } from "./reading/thinking.ts";
import { type AskedModel, findAsked, nameOf, requireAbility } from "./resolve-model.ts";
import type { AnswerPart } from "./response-chunks.ts";
import type { GenerateBody } from "./schema.ts";
import { writeAnswer } from "./write-answer.ts";

export async function answerGenerate(call: HearthCall<GenerateBody>, parts: HearthParts): Promise<Answer> {
  const { body } = call;
  refuseContradictions(body);
  const asked = await findAsked(parts.models, nameOf(body));
  if (!body.prompt && !body.suffix && !body.images?.length) {
    const requireAbilities = (): void => requireAbility(asked, "completion", "generate");
    return answerLoadOnly(call, asked, { ...parts, emptyAnswer: { response: "" }, requireAbilities });
  }
  requireAbility(asked, "completion", "generate");
  const remembered = rememberedTurns(body);
  return writeAnswer(call, parts, {
    requestedName: asked.requestedName,
    request: readGeneration(call, asked, await readInput(call, asked, remembered)),
    isStreamed: body.stream !== false,
    shape: ({ text, thinking }) => ({ response: text, ...(thinking === "" ? {} : { thinking }) }),
    ending: (whole) => (body.raw === true || body.suffix ? {} : writeRemembered(remembered, whole)),
  });
}

function refuseContradictions({ raw, template, system, context, suffix }: GenerateBody): void {
  const place = "";
  if (raw === true && (template || system || context?.length)) {
    const reason = "raw mode does not support template, system, or context";
    throw requestFailure({ kind: "request-invalid", place, reason });
  }
  if (template && suffix) {
    const reason =
      "this server does not take a template together with a suffix; use raw, or a model that has it";
    throw requestFailure({ kind: "request-invalid", place, reason });
  }
}

/** Everything said before the answer, as far as a later call can be told it again. */
function rememberedTurns({ system, context, prompt }: GenerateBody): readonly RememberedTurn[] {
  const before = readContext(context);
  const old = before.find(({ role }) => role === "system")?.content;
  const told = system || old;
  return [
    ...(told === undefined ? [] : [{ role: "system", content: told } as const]),
    ...before.filter(({ role }) => role !== "system"),
    { role: "user", content: prompt ?? "" },
  ];
}

async function readInput(
  { body, signal }: HearthCall<GenerateBody>,
  asked: AskedModel,
  remembered: readonly RememberedTurn[],
): Promise<AnswerRequest["input"]> {
  const sources = imageSources(body.images, "images");
  if (sources.length > 0) requireAbility(asked, "vision");
  const images = [...(await readImages(sources, { signal })).values()];
  const thinking = readThinking(body.think, asked.model, asked.requestedName);
  const prompt = body.prompt ?? "";
  if (body.suffix) {
    requireAbility(asked, "insert");
    return { type: "fill-in-the-middle", prefix: prompt, suffix: body.suffix };
  }
  if (body.raw === true) return { type: "raw", prompt };
  const last: Message = { role: "user", content: prompt, ...(images.length === 0 ? {} : { images }) };
  const messages = [...remembered.slice(0, -1), last];
  const goTemplate = body.template ? { goTemplate: body.template } : {};
  return { type: "conversation", conversation: { messages, ...thinking, ...goTemplate } };
}

function writeRemembered(remembered: readonly RememberedTurn[], { text }: AnswerPart) {
  const context = writeContext([...remembered, { role: "assistant", content: text }]);
  return context === undefined ? {} : { context };
}
