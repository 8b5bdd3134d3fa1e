import { askLines, asProblem } from "../server-api/api-client.ts";
import { type AnswerTurn, type Conversation, type Figures, messagesOf, newId } from "./conversation.ts";
import { createStore } from "./store.ts";

/** An answer as far as it has come. */
export type LiveAnswer = { readonly text: string; readonly thinking: string; readonly isBegun: boolean };

type ChatLine = {
  readonly message?: { readonly content?: string; readonly thinking?: string };
  readonly done?: boolean;
  readonly done_reason?: string;
  readonly eval_count?: number;
  readonly eval_duration?: number;
};

/** By conversation; each changes once a frame, whatever the speed of the answer. */
export const liveAnswers = createStore<ReadonlyMap<string, LiveAnswer>>(new Map());
const controllers = new Map<string, AbortController>();

export function stopAnswer(conversation: string): void {
  controllers.get(conversation)?.abort();
}

/**
 * Reads one answer to its end, whichever that is; never throws. `keep` has what came so far, now and then. There is
 * none when the page went away before its first word.
 */
export async function readAnswer(
  conversation: Conversation,
  keep: (unfinished: AnswerTurn) => void,
): Promise<AnswerTurn | undefined> {
  const { id, model } = conversation;
  const controller = new AbortController();
  controllers.set(id, controller);
  const turn = { id: newId(), role: "assistant", model } as const;
  const desk = openDesk(id, (words) => keep({ ...turn, ...words, ...left }));
  const startedAt = performance.now();
  try {
    const end = await readLines(conversation, controller.signal, desk);
    const seconds = (desk.firstAt() - startedAt) / 1000;
    if (end === undefined) return { ...turn, ...desk.words(), ending: "cut", problem: cutProblem };
    const ending = end.done_reason === "length" ? "length" : "done";
    return { ...turn, ...desk.words(), ending, figures: figuresOf(end, seconds) };
  } catch (thrown) {
    if (controller.signal.aborted) return { ...turn, ...desk.words(), ending: "stopped" };
    // The browser breaks the connection then; nothing is wrong with it.
    if (desk.isLeft()) return desk.isBegun() ? { ...turn, ...desk.words(), ...left } : undefined;
    const { message, nextStep } = asProblem(thrown);
    const ending = desk.words().text === "" ? "failed" : "cut";
    return { ...turn, ...desk.words(), ending, problem: { sentence: message, nextStep } };
  } finally {
    controllers.delete(id);
    desk.close();
  }
}

const cutProblem = {
  sentence: "The answer broke off half-way",
  nextStep: "What came is kept; regenerate to have a whole one.",
};

const left = {
  ending: "cut",
  problem: {
    sentence: "The page went away before the answer was whole",
    nextStep: "What came is kept; regenerate to have a whole one.",
  },
} as const;

async function readLines(
  { model, turns, settings }: Conversation,
  signal: AbortSignal,
  desk: Desk,
): Promise<ChatLine | undefined> {
  const body = { model, messages: messagesOf({ turns, settings }), options: settings.options, stream: true };
  let end: ChatLine | undefined;
  for await (const line of askLines<ChatLine>("/api/chat", { method: "POST", body, signal })) {
    desk.add(line.message?.content ?? "", line.message?.thinking ?? "");
    if (line.done === true) end = line;
  }
  return end;
}

function figuresOf(
  { eval_count: tokens = 0, eval_duration: nanoseconds = 0 }: ChatLine,
  wait: number,
): Figures {
  const tokensPerSecond = nanoseconds > 0 ? (tokens / nanoseconds) * 1e9 : 0;
  return { tokens, tokensPerSecond, firstTokenSeconds: wait };
}

type Words = { readonly text: string; readonly thinking: string };

type Desk = {
  readonly add: (text: string, thinking: string) => void;
  readonly words: () => Words;
  readonly isBegun: () => boolean;
  readonly firstAt: () => number;
  /** The page was closed or loaded anew. */
  readonly isLeft: () => boolean;
  readonly close: () => void;
};

const keepMilliseconds = 1000;

/** Gathers what comes and shows it once a frame; a hidden tab has no frames, and needs none. */
function openDesk(id: string, keep: (words: Words) => void): Desk {
  let [text, thinking] = ["", ""];
  let firstAt: number | undefined;
  let keptAt = 0;
  let isLeft = false;
  let frame = 0;
  const keepNow = (): void => {
    keptAt = performance.now();
    if (firstAt !== undefined) keep({ text, thinking });
  };
  // Whoever loads the page anew finds what came in the last second as well.
  const leave = (): void => {
    isLeft = true;
    keepNow();
  };
  window.addEventListener("pagehide", leave);
  const show = (): void => {
    frame = 0;
    const isBegun = firstAt !== undefined;
    liveAnswers.set((all) => new Map(all).set(id, { text, thinking, isBegun }));
  };
  show();
  return {
    add: (moreText, moreThinking) => {
      if (moreText === "" && moreThinking === "") return;
      firstAt ??= performance.now();
      text += moreText;
      thinking += moreThinking;
      if (frame === 0) frame = requestAnimationFrame(show);
      if (performance.now() - keptAt >= keepMilliseconds) keepNow();
    },
    words: () => ({ text, thinking }),
    isBegun: () => firstAt !== undefined,
    firstAt: () => firstAt ?? performance.now(),
    isLeft: () => isLeft,
    close: () => {
      window.removeEventListener("pagehide", leave);
      cancelAnimationFrame(frame);
      liveAnswers.set((all) => new Map([...all].filter(([other]) => other !== id)));
    },
  };
}
