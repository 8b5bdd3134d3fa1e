import type { Answer } from "@hearth-and-keep/http-service";
import type { HearthCall, HearthParts } from "../../parts.ts";
import type { AnswerPart } from "./answer-parts.ts";
import { type AskedModel, findAsked, requireAbility, requireName } from "./asked-model.ts";
import { readGeneration } from "./generation-request.ts";
import { answerLoadOnly } from "./load-only.ts";
import { readMessages, readTools } from "./reading/messages.ts";
import { readThinking } from "./reading/thinking.ts";
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
  const input = { type: "conversation", conversation: readConversation(body, asked) } as const;
  return writeAnswer(call, parts, {
    requestedName: asked.requestedName,
    request: readGeneration(call, asked, input),
    isStreamed: body.stream !== false,
    shape: (part) => ({ message: writeMessage(part) }),
  });
}

function readConversation({ messages, tools, think }: ChatBody, asked: AskedModel) {
  const offered = readTools(tools);
  if (offered.length > 0) requireAbility(asked, "tools");
  const read = readMessages(messages ?? []);
  if (read.some((message) => "images" in message)) requireAbility(asked, "vision");
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
