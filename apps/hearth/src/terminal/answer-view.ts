import { openLiveRegion } from "./live-region.ts";
import { tellSeconds } from "./measures.ts";
import { errorScreen, type Screen } from "./screen.ts";
import { openStreamedMarkdown } from "./streamed-markdown.ts";
import { cutTo } from "./text-width.ts";
import { makeSafe } from "./untrusted-text.ts";
import { showWaiting } from "./waiting-bar.ts";

/** A piece of an answer, in the order in which it comes. */
export type AnswerPiece = { readonly thinking?: string; readonly text?: string };

export type ThinkingView = "folded" | "shown" | "hidden";

export type AnswerViewPlan = {
  readonly screen: Screen;
  readonly thinkingView: ThinkingView;
  /** Draws Markdown, broken between words; without it the text stands as the model writes it. */
  readonly wrapsWords: boolean;
  /** What is said while nothing has come yet. */
  readonly waitingWords: string;
};

/** Shows an answer as it comes. Into a pipe goes the text alone, as the model wrote it. */
export async function showAnswer(pieces: AsyncIterable<AnswerPiece>, plan: AnswerViewPlan): Promise<void> {
  const { screen } = plan;
  using stack = new DisposableStack();
  stack.use(showWaiting(screen.isTerminal ? screen : errorScreen, plan.waitingWords));
  const waiting = stack.move();
  const thought = screen.isTerminal ? openThought(plan) : undefined;
  const text = screen.isTerminal && plan.wrapsWords ? openStreamedMarkdown(screen) : openPlainText(screen);
  let hasText = false;
  try {
    for await (const piece of pieces) {
      waiting.dispose();
      if (piece.thinking) thought?.add(piece.thinking);
      if (!piece.text) continue;
      if (!hasText) thought?.end();
      hasText = true;
      text.add(piece.text);
    }
  } finally {
    waiting.dispose();
    if (!hasText) thought?.end();
    text.end();
  }
}

type Thought = { add(text: string): void; end(): void };

function openThought({ screen, thinkingView }: AnswerViewPlan): Thought {
  const region = openLiveRegion(screen);
  let startedAt: number | undefined;
  let words = 0;
  let isInWord = false;
  return {
    add(text) {
      startedAt ??= performance.now();
      // A word begins where none is going on, also across pieces.
      words += `${isInWord ? "-" : " "}${text}`.match(/\s\S/gu)?.length ?? 0;
      isInWord = /\S$/u.test(text) || (text === "" && isInWord);
      if (thinkingView === "shown") screen.write(screen.style("dim", makeSafe(text)));
      if (thinkingView === "folded") region.show([screen.style("dim", `Thinking… ${words} words`)]);
    },
    end() {
      if (startedAt === undefined || thinkingView === "hidden") return;
      const line = `Thought for ${tellSeconds((performance.now() - startedAt) / 1000)} (${words} words)`;
      if (thinkingView === "shown") screen.write("\n");
      region.show([screen.style("dim", cutTo(line, screen.columns() - 1)), ""]);
      region.keep();
      startedAt = undefined;
    },
  };
}

function openPlainText(screen: Screen): Thought {
  let last = "";
  return {
    add(text) {
      last = text;
      screen.write(screen.isTerminal ? makeSafe(text) : text);
    },
    end() {
      if (last !== "" && !last.endsWith("\n")) screen.write("\n");
    },
  };
}
