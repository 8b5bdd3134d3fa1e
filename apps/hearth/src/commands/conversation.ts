import type { ServerCaller } from "../server-client/call-server.ts";
import type { AnswerEnd, ModelTurn, ShownModel } from "../server-client/response-types.ts";
import type { AnswerPiece, ThinkingView } from "../terminal/answer-view.ts";
import { tellSeconds } from "../terminal/measures.ts";

type ChatMessage = ModelTurn & { readonly images?: readonly string[] };

/** What a person has set and said so far; everything in it can be changed while they chat. */
export type Conversation = {
  model: string;
  shown: ShownModel;
  system: string | undefined;
  parameters: Record<string, unknown>;
  /** Said in this chat. What the model was saved with is in `shown`, and the server itself puts it before these. */
  messages: ChatMessage[];
  /** Pictures that go with the next question. */
  images: readonly string[];
  think: boolean | string | undefined;
  thinkingView: ThinkingView;
  format: unknown;
  keepAlive: string | undefined;
  isVerbose: boolean;
  /** Whether answers are drawn as Markdown, broken between words; otherwise they stand as the model writes them. */
  wrapsWords: boolean;
};

export function canDo({ shown }: Conversation, ability: string): boolean {
  return shown.capabilities?.includes(ability) === true;
}

export type Said = { readonly text: string; readonly images?: readonly string[] };

export type Asking = {
  readonly server: ServerCaller;
  readonly signal: AbortSignal;
  readonly onEnd: (end: AnswerEnd) => void;
};

/** Says something and yields the answer. Both are part of the conversation afterwards, also when it was stopped. */
export async function* say(
  conversation: Conversation,
  { text, images = [] }: Said,
  { server, signal, onEnd }: Asking,
): AsyncGenerator<AnswerPiece> {
  const { messages } = conversation;
  const shown = [...conversation.images, ...images];
  messages.push({ role: "user", content: text, ...(shown.length === 0 ? {} : { images: shown }) });
  let answer = "";
  try {
    for await (const object of server.stream("/api/chat", writeBody(conversation), signal)) {
      // The shape of the family's answer.
      const { message, ...end } = object as AnswerEnd & {
        readonly done?: boolean;
        readonly message?: { readonly content?: string; readonly thinking?: string };
      };
      answer += message?.content ?? "";
      yield { text: message?.content ?? "", thinking: message?.thinking ?? "" };
      if (end.done === true) onEnd(end);
    }
  } finally {
    if (answer === "") messages.pop();
    else {
      messages.push({ role: "assistant", content: answer });
      conversation.images = [];
    }
  }
}

function writeBody(conversation: Conversation) {
  const { model, system, parameters, messages, format, keepAlive } = conversation;
  // As other programs of this family do: who can think, thinks, unless told otherwise.
  const think = conversation.think ?? (canDo(conversation, "thinking") ? true : undefined);
  return {
    model,
    messages: [...(system === undefined ? [] : [{ role: "system", content: system }]), ...messages],
    options: parameters,
    ...(think === undefined ? {} : { think }),
    ...(format === undefined ? {} : { format }),
    ...(keepAlive === undefined ? {} : { keep_alive: keepAlive }),
  };
}

/** Into memory, for as long as the chat wants it kept. */
export async function loadModel(
  server: ServerCaller,
  { model, keepAlive }: Conversation,
  signal: AbortSignal,
): Promise<void> {
  const body = { model, stream: false, ...(keepAlive === undefined ? {} : { keep_alive: keepAlive }) };
  await server.ask("/api/generate", body, { idleSeconds: 3600, signal });
}

/** One line with what took how long. */
export function tellEnd(end: AnswerEnd): string {
  const [read, wrote] = [
    tellRate(end.prompt_eval_count, end.prompt_eval_duration),
    tellRate(end.eval_count, end.eval_duration),
  ];
  const load = tellSeconds((end.load_duration ?? 0) / 1e9);
  return `read ${read}, wrote ${wrote}; loading ${load}, in all ${tellSeconds((end.total_duration ?? 0) / 1e9)}`;
}

function tellRate(count = 0, nanoseconds = 0): string {
  const rate = nanoseconds === 0 ? 0 : count / (nanoseconds / 1e9);
  return `${count} tokens at ${rate.toFixed(1)}/s`;
}
