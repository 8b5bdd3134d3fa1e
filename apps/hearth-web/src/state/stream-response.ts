import { streamLines, toRequestError } from "../server-api/api-client.ts";
import {
  type Conversation,
  createId,
  type ResponseStats,
  type ResponseTurn,
  toMessages,
} from "./conversation.ts";
import { createStore } from "./store.ts";

/** What has been received of a response so far. */
export type StreamingResponse = {
  readonly text: string;
  readonly thinking: string;
  readonly hasStarted: boolean;
  /** How much of the model is loaded; undefined if it does not take long. */
  readonly loadPercent: number | undefined;
  /** Its position in the queue, in words; undefined if it does not wait for long. */
  readonly queuePosition: string | undefined;
};

type ChatLine = {
  readonly message?: { readonly content?: string; readonly thinking?: string };
  readonly done?: boolean;
  readonly done_reason?: string;
  readonly eval_count?: number;
  readonly eval_duration?: number;
};

/** By conversation. Updated once per frame, however fast tokens arrive. */
export const streamingResponses = createStore<ReadonlyMap<string, StreamingResponse>>(new Map());
const controllers = new Map<string, AbortController>();

export function stopResponse(conversation: string): void {
  controllers.get(conversation)?.abort();
}

/**
 * Reads one response until it ends, in whatever way; never throws. `save` is called with the partial response about
 * once a second. Returns undefined when the page was closed before the first token.
 */
export async function streamResponse(
  conversation: Conversation,
  save: (partial: ResponseTurn) => void,
): Promise<ResponseTurn | undefined> {
  const { id, model } = conversation;
  const controller = new AbortController();
  controllers.set(id, controller);
  const turn = { id: createId(), role: "assistant", model } as const;
  const buffer = openBuffer(id, (content) => save({ ...turn, ...content, ...interruptedByUnload }));
  const startedAt = performance.now();
  try {
    const last = await readLines(conversation, controller.signal, buffer);
    const firstTokenSeconds = (buffer.firstTokenAt() - startedAt) / 1000;
    if (last === undefined) return { ...turn, ...buffer.content(), ...truncated };
    const ending = last.done_reason === "length" ? "length" : "done";
    return { ...turn, ...buffer.content(), ending, stats: statsOf(last, firstTokenSeconds) };
  } catch (error) {
    if (controller.signal.aborted) return { ...turn, ...buffer.content(), ending: "stopped" };
    // On unload the browser closes the connection, so there is no error to report.
    if (buffer.isUnloading()) {
      return buffer.hasStarted() ? { ...turn, ...buffer.content(), ...interruptedByUnload } : undefined;
    }
    const { message, suggestion } = toRequestError(error);
    const ending = buffer.content().text === "" ? "failed" : "cut";
    return { ...turn, ...buffer.content(), ending, error: { message, suggestion } };
  } finally {
    controllers.delete(id);
    buffer.close();
  }
}

const truncated = {
  ending: "cut",
  error: { message: "The response was cut off", suggestion: { action: "regenerate" } },
} as const;

const interruptedByUnload = {
  ending: "cut",
  error: {
    message: "The page was closed before the response was complete",
    suggestion: { action: "regenerate" },
  },
} as const;

async function readLines(
  { model, turns, settings }: Conversation,
  signal: AbortSignal,
  buffer: ResponseBuffer,
): Promise<ChatLine | undefined> {
  const body = { model, messages: toMessages({ turns, settings }), options: settings.options, stream: true };
  let last: ChatLine | undefined;
  const notices = {
    onLoadProgress: (loadPercent: number) => buffer.showWaiting({ loadPercent, queuePosition: undefined }),
    onQueued: (queuePosition: string) => buffer.showWaiting({ loadPercent: undefined, queuePosition }),
  };
  const options = { method: "POST", body, signal, ...notices } as const;
  for await (const line of streamLines<ChatLine>("/api/chat", options)) {
    buffer.add(line.message?.content ?? "", line.message?.thinking ?? "");
    if (line.done === true) last = line;
  }
  return last;
}

function statsOf(
  { eval_count: tokens = 0, eval_duration: nanoseconds = 0 }: ChatLine,
  firstTokenSeconds: number,
): ResponseStats {
  const tokensPerSecond = nanoseconds > 0 ? (tokens / nanoseconds) * 1e9 : 0;
  return { tokens, tokensPerSecond, firstTokenSeconds };
}

type Content = Pick<ResponseTurn, "text" | "thinking" | "thinkingSeconds">;

type Waiting = Pick<StreamingResponse, "loadPercent" | "queuePosition">;

type ResponseBuffer = {
  readonly add: (text: string, thinking: string) => void;
  readonly showWaiting: (waiting: Waiting) => void;
  readonly content: () => Content;
  readonly hasStarted: () => boolean;
  readonly firstTokenAt: () => number;
  /** The page is being closed or reloaded. */
  readonly isUnloading: () => boolean;
  readonly close: () => void;
};

const saveIntervalMilliseconds = 1000;

/** Collects tokens and publishes them once per frame. A hidden tab has no frames, and needs none. */
function openBuffer(id: string, save: (content: Content) => void): ResponseBuffer {
  let [text, thinking] = ["", ""];
  let waiting: Waiting = { loadPercent: undefined, queuePosition: undefined };
  let firstTokenAt: number | undefined;
  let thinkingEndedAt: number | undefined;
  let savedAt = 0;
  let isUnloading = false;
  let frame = 0;
  const content = (): Content => {
    if (thinking === "" || firstTokenAt === undefined) return { text, thinking };
    return {
      text,
      thinking,
      thinkingSeconds: ((thinkingEndedAt ?? performance.now()) - firstTokenAt) / 1000,
    };
  };
  const saveNow = (): void => {
    savedAt = performance.now();
    if (firstTokenAt !== undefined) save(content());
  };
  // Saves the tokens of the last second too.
  const handleUnload = (): void => {
    isUnloading = true;
    saveNow();
  };
  window.addEventListener("pagehide", handleUnload);
  const publish = (): void => {
    frame = 0;
    const hasStarted = firstTokenAt !== undefined;
    streamingResponses.set((all) => new Map(all).set(id, { text, thinking, hasStarted, ...waiting }));
  };
  publish();
  return {
    add: (newText, newThinking) => {
      if (newText === "" && newThinking === "") return;
      firstTokenAt ??= performance.now();
      if (newText !== "") thinkingEndedAt ??= performance.now();
      text += newText;
      thinking += newThinking;
      if (frame === 0) frame = requestAnimationFrame(publish);
      if (performance.now() - savedAt >= saveIntervalMilliseconds) saveNow();
    },
    showWaiting: (next) => {
      waiting = next;
      if (frame === 0) frame = requestAnimationFrame(publish);
    },
    content,
    hasStarted: () => firstTokenAt !== undefined,
    firstTokenAt: () => firstTokenAt ?? performance.now(),
    isUnloading: () => isUnloading,
    close: () => {
      window.removeEventListener("pagehide", handleUnload);
      cancelAnimationFrame(frame);
      streamingResponses.set((all) => new Map([...all].filter(([other]) => other !== id)));
    },
  };
}
