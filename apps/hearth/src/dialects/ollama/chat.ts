import type { Answer } from "@hearth-and-keep/http-service";
import type { HearthCall, HearthParts } from "../../dependencies.ts";
import { readImages } from "../../images/read-images.ts";
import { readGeneration } from "./generation-request.ts";
import { answerLoadOnly } from "./load-only.ts";
import { messageImageSources } from "./reading/images.ts";
import { readMessages, readTools } from "./reading/messages.ts";
import { readThinking } from "./reading/thinking.ts";
import { type AskedModel, findAsked, requireAbility, requireName } from "./resolve-model.ts";
import type { AnswerPart } from "./response-chunks.ts";
import type { ChatBody } from "./schema.ts";
import { writeAnswer } from "./write-answer.ts";

export async function answerChat(call: HearthCall<ChatBody>, parts: HearthParts): Promise<Answer> {
  const { body } = call;
  const asked = await findAsked(parts.models, requireName(body));
  const messages = body.messages ?? [];
  if (messages.length === 0) {
    const requireAbilities = (): void => requireAbility(asked, "completion", "chat");
    const emptyAnswer = { message: { role: "assistant", content: "" } };
    return answerLoadOnly(call, asked, { ...parts, emptyAnswer, requireAbilities });
  }
  requireAbility(asked, "completion", "chat");
  const conversation = await readConversation(call, asked);
  return writeAnswer(call, parts, {
    requestedName: asked.requestedName,
    request: readGeneration(call, asked, { type: "conversation", conversation }),
    isStreamed: body.stream !== false,
    shape: (part) => ({ message: writeMessage(part) }),
  });
}

async function readConversation({ body, signal }: HearthCall<ChatBody>, asked: AskedModel) {
  const { tools, think } = body;
  const messages = body.messages ?? [];
  const offered = readTools(tools);
  if (offered.length > 0) requireAbility(asked, "tools");
  const sources = messageImageSources(messages);
  if (sources.length > 0) requireAbility(asked, "vision");
  const read = readMessages(messages, await readImages(sources, { signal }));
  const thinking = readThinking(think, asked.model, asked.requestedName);
  return { messages: read, ...(offered.length === 0 ? {} : { tools: offered }), ...thinking };
}

function writeMessage({ text, thinking, toolCalls }: AnswerPart) {
  return {
    role: "assistant",
    content: text,
    ...(thinking === "" ? {} : { thinking }),
    ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
  };
}
