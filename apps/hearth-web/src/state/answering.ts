import { askLines, asProblem } from "../server-api/ask.ts";
import { type AnswerTurn, type Conversation, type Figures, messagesOf } from "./conversation.ts";
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

/** Reads one answer to its end, whichever that is; never throws. */
export async function readAnswer(conversation: Conversation): Promise<AnswerTurn> {
  const { id, model } = conversation;
  const controller = new AbortController();
  controllers.set(id, controller);
  const desk = openDesk(id);
  const startedAt = performance.now();
  const turn = { id: crypto.randomUUID(), role: "assistant", model } as const;
  try {
    const end = await readLines(conversation, controller.signal, desk);
    const seconds = (desk.firstAt() - startedAt) / 1000;
    if (end === undefined) return { ...turn, ...desk.words(), ending: "cut", problem: cutProblem };
    const ending = end.done_reason === "length" ? "length" : "done";
    return { ...turn, ...desk.words(), ending, figures: figuresOf(end, seconds) };
  } catch (thrown) {
    if (controller.signal.aborted) return { ...turn, ...desk.words(), ending: "stopped" };
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

type Desk = {
  readonly add: (text: string, thinking: string) => void;
  readonly words: () => { readonly text: string; readonly thinking: string };
  readonly firstAt: () => number;
  readonly close: () => void;
};

/** Gathers what comes and shows it once a frame; a hidden tab has no frames, and needs none. */
function openDesk(id: string): Desk {
  let [text, thinking] = ["", ""];
  let firstAt: number | undefined;
  let frame = 0;
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
    },
    words: () => ({ text, thinking }),
    firstAt: () => firstAt ?? performance.now(),
    close: () => {
      cancelAnimationFrame(frame);
      liveAnswers.set((all) => new Map([...all].filter(([other]) => other !== id)));
    },
  };
}
