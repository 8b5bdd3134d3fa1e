import type { StreamNotice } from "@hearth-and-keep/hearth-contract";
import type { Screen } from "@hearth-and-keep/terminal";
import type { GenerationStats, ModelInfo, SavedMessage } from "../server-client/response-types.ts";
import type { ServerClient } from "../server-client/server-client.ts";
import { formatDuration } from "../terminal/format-units.ts";
import type { LineEditor } from "../terminal/line-editor.ts";
import type { ResponseChunk, ThinkingView } from "../terminal/response-view.ts";
import { showSpinner } from "../terminal/spinner.ts";

type ChatMessage = SavedMessage & { readonly images?: readonly string[] };

/** The state of a chat: its history and settings, which slash commands change. */
export type Conversation = {
  model: string;
  modelInfo: ModelInfo;
  system: string | undefined;
  parameters: Record<string, unknown>;
  /** Messages of this chat. The server itself prepends those saved with the model, which are in `modelInfo`. */
  messages: ChatMessage[];
  /** Images to send with the next message. */
  images: readonly string[];
  think: boolean | string | undefined;
  thinkingView: ThinkingView;
  format: unknown;
  keepAlive: string | undefined;
  isVerbose: boolean;
  /** Whether responses are rendered as Markdown with word wrap, or printed as the model writes them. */
  rendersMarkdown: boolean;
};

export type ChatContext = {
  readonly server: ServerClient;
  readonly conversation: Conversation;
  readonly editor: LineEditor;
};

export function hasCapability({ modelInfo }: Conversation, capability: string): boolean {
  return modelInfo.capabilities?.includes(capability) === true;
}

export type UserMessage = { readonly text: string; readonly images?: readonly string[] };

export type SendOptions = {
  readonly server: ServerClient;
  readonly signal: AbortSignal;
  readonly onDone: (stats: GenerationStats) => void;
};

/** Sends a message and yields the response. Both are added to the history, even if the response is interrupted. */
export async function* sendMessage(
  conversation: Conversation,
  { text, images = [] }: UserMessage,
  { server, signal, onDone }: SendOptions,
): AsyncGenerator<ResponseChunk> {
  const { messages } = conversation;
  const allImages = [...conversation.images, ...images];
  messages.push({ role: "user", content: text, ...(allImages.length === 0 ? {} : { images: allImages }) });
  let response = "";
  try {
    for await (const object of server.streamAfterLoad("/api/chat", buildRequest(conversation), signal)) {
      if (isNotice(object)) {
        yield object;
        continue;
      }
      // A chunk of Ollama's /api/chat stream.
      const { message, ...stats } = object as GenerationStats & {
        readonly done?: boolean;
        readonly message?: { readonly content?: string; readonly thinking?: string };
      };
      response += message?.content ?? "";
      yield { text: message?.content ?? "", thinking: message?.thinking ?? "" };
      if (stats.done === true) onDone(stats);
    }
  } finally {
    if (response === "") messages.pop();
    else {
      messages.push({ role: "assistant", content: response });
      conversation.images = [];
    }
  }
}

function buildRequest(conversation: Conversation) {
  const { model, system, parameters, messages, format, keepAlive } = conversation;
  // As in Ollama, models that can think do so unless it is turned off.
  const think = conversation.think ?? (hasCapability(conversation, "thinking") ? true : undefined);
  return {
    model,
    messages: [...(system === undefined ? [] : [{ role: "system", content: system }]), ...messages],
    options: parameters,
    ...(think === undefined ? {} : { think }),
    ...(format === undefined ? {} : { format }),
    ...(keepAlive === undefined ? {} : { keep_alive: keepAlive }),
  };
}

function isNotice(object: object): object is StreamNotice {
  return "loadPercent" in object || "queued" in object;
}

export type LoadOptions = {
  readonly server: ServerClient;
  readonly signal: AbortSignal;
  readonly screen: Screen;
};

/** Loads the model into memory with the keep-alive of the chat, and shows how far it is. */
export async function loadModel(
  { model, keepAlive }: Conversation,
  { server, signal, screen }: LoadOptions,
): Promise<void> {
  const body = { model, ...(keepAlive === undefined ? {} : { keep_alive: keepAlive }) };
  using spinner = showSpinner(screen, `Loading ${model}`);
  for await (const object of server.streamAfterLoad("/api/generate", body, signal)) {
    if (!isNotice(object)) continue;
    const { loadPercent, queued } = object;
    if (loadPercent !== undefined) spinner.showPercent(`Loading ${model}`, loadPercent);
    if (queued !== undefined) spinner.showLabel(`Waiting: ${queued}`);
  }
}

/** Token counts, rates and durations in one line. */
export function formatStats(stats: GenerationStats): string {
  const load = formatDuration((stats.load_duration ?? 0) / 1e9);
  const total = formatDuration((stats.total_duration ?? 0) / 1e9);
  return [
    `prompt ${formatRate(stats.prompt_eval_count, stats.prompt_eval_duration)}`,
    `output ${formatRate(stats.eval_count, stats.eval_duration)}`,
    `load ${load}`,
    `total ${total}`,
  ].join(", ");
}

function formatRate(count = 0, nanoseconds = 0): string {
  const rate = nanoseconds === 0 ? 0 : count / (nanoseconds / 1e9);
  return `${count} tokens at ${rate.toFixed(1)}/s`;
}
