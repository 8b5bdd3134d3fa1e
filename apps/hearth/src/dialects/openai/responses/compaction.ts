import type { Message } from "@hearth-and-keep/engine";
import type { ReadMessage } from "../../../images/attach-media.ts";
import { isUserMessage } from "./history-images.ts";
import { createId } from "./output-item.ts";
import type { ReasoningSeal } from "./reasoning-seal.ts";
import type { InputItem, InputPart, ResponsesRequest } from "./schema.ts";

/** Tokens of a summary: a longer one would soon fill the context again. */
const maxSummaryTokens = 2048;
/** Characters of a tool's output in the prompt of a summary; agents read whole files. */
const maxOutputCharacters = 4000;

const summaryInstructions = [
  "Stop here and summarize this conversation, so that you can go on later from the summary alone.",
  "Include what the user wants, instructions that still apply, what was done and found out (with exact names, numbers,",
  "paths and commands), what is not done yet, and the next step. Do not answer anything and do not call tools.",
  "Write only the summary.",
].join(" ");

/** Introduces a summary where the model reads it. */
const summaryHeading = "Summary of the conversation so far:";
/** Stands for the messages of the user if the client sends only the summary. */
const summaryQuestion = "What is this conversation about so far?";

/** Summaries and reasoning have one key, so the purpose is part of what they are sealed for. */
export function summarySealOf(seal: ReasoningSeal, keyName: string) {
  // Names of keys contain no control characters.
  const owner = `${keyName}\u0000summary`;
  return {
    seal: (summary: string): string => seal.seal(owner, summary.trim()),
    /** Undefined for a summary of another server, another process or another API key, and for an empty one. */
    open: (sealed: string): string | undefined => seal.open(owner, sealed) || undefined,
  };
}

/** The settings of a request whose response is a summary: no tools, no format, no thinking. */
export function toSummaryBody(body: ResponsesRequest): ResponsesRequest {
  return {
    ...body,
    tools: null,
    tool_choice: null,
    text: null,
    include: null,
    stop: null,
    reasoning: { effort: "none" },
    max_output_tokens: Math.min(body.max_output_tokens ?? maxSummaryTokens, maxSummaryTokens),
  };
}

/** Requests a summary at the end of the conversation. Many templates do not allow two messages of the user in a row. */
export function appendSummaryRequest(messages: readonly Message[]): readonly Message[] {
  const shortened = messages.map(shortenOutput);
  const last = shortened.at(-1);
  if (last?.role !== "user") return [...shortened, { role: "user", content: summaryInstructions }];
  return [...shortened.slice(0, -1), { ...last, content: `${last.content}\n\n${summaryInstructions}` }];
}

function shortenOutput(message: Message): Message {
  if (message.role !== "tool" || message.content.length <= maxOutputCharacters) return message;
  const half = maxOutputCharacters / 2;
  const content = `${message.content.slice(0, half)}\n[…]\n${message.content.slice(-half)}`;
  return { ...message, content };
}

/**
 * The conversation up to a summary, in its place: what the user said is kept, as one message, and the summary stands for
 * everything else. Some clients send nothing before the summary; many templates require a message of the user there.
 */
export function replaceBySummary(read: readonly ReadMessage[], summary: string): readonly ReadMessage[] {
  const said = read.flatMap(({ message }) => (message.role === "user" ? [message] : []));
  const content = said.map((message) => message.content).join("\n\n") || summaryQuestion;
  const images = said.flatMap((message) => message.images ?? []);
  const merged: Message = { role: "user", content, ...(images.length === 0 ? {} : { images }) };
  return [
    ...read.filter(({ message }) => message.role === "system"),
    { message: merged },
    { message: { role: "assistant", content: `${summaryHeading}\n${summary}` } },
  ];
}

/** What the user said, as items of a response. Clients expect a list of parts, of the types that a user sends. */
export function keepUserMessages(items: readonly InputItem[]): readonly object[] {
  return items.filter(isUserMessage).map(({ id, content }) => ({
    id: (id ?? "") || createId("msg"),
    type: "message",
    status: "completed",
    role: "user",
    content: toParts(content),
  }));
}

function toParts(content: InputItem["content"]): readonly InputPart[] {
  if (typeof content === "string") return [{ type: "input_text", text: content }];
  return (content ?? []).map((part) =>
    part.type === "text" || part.type === "output_text"
      ? { type: "input_text", text: part.text ?? "" }
      : part,
  );
}
