import { errorScreen, type Screen, sanitizeText, truncateToWidth } from "@hearth-and-keep/terminal";
import { formatDuration } from "./format-units.ts";
import { openLiveRegion } from "./live-region.ts";
import { showSpinner } from "./spinner.ts";
import { openStreamedMarkdown } from "./streamed-markdown.ts";

/** A chunk of a streamed response, or what it waits for: how much of its model is loaded, or its turn. */
export type ResponseChunk = {
  readonly thinking?: string;
  readonly text?: string;
  readonly loadPercent?: number;
  readonly queued?: string;
};

export type ThinkingView = "folded" | "shown" | "hidden";

export type ResponseViewOptions = {
  readonly screen: Screen;
  readonly thinkingView: ThinkingView;
  /** Renders Markdown with word wrap; otherwise the text is printed as the model writes it. */
  readonly rendersMarkdown: boolean;
  /** Shown until the first chunk arrives. */
  readonly waitingLabel: string;
};

/** Shows a response as it streams in. A pipe receives only the text, as the model wrote it. */
export async function showResponse(
  chunks: AsyncIterable<ResponseChunk>,
  options: ResponseViewOptions,
): Promise<void> {
  const { screen, rendersMarkdown, waitingLabel } = options;
  using stack = new DisposableStack();
  const spinner = stack.use(showSpinner(screen.isTerminal ? screen : errorScreen, waitingLabel));
  const waiting = stack.move();
  const thinking = screen.isTerminal ? openThinkingView(options) : undefined;
  const text = screen.isTerminal && rendersMarkdown ? openStreamedMarkdown(screen) : openPlainView(screen);
  let hasText = false;
  try {
    for await (const chunk of chunks) {
      if (chunk.loadPercent !== undefined) {
        spinner.showPercent("Loading the model", chunk.loadPercent);
        continue;
      }
      if (chunk.queued !== undefined) {
        spinner.showLabel(`Waiting: ${sanitizeText(chunk.queued)}`);
        continue;
      }
      waiting.dispose();
      if (chunk.thinking) thinking?.add(chunk.thinking);
      if (!chunk.text) continue;
      if (!hasText) thinking?.end();
      hasText = true;
      text.add(chunk.text);
    }
  } finally {
    waiting.dispose();
    if (!hasText) thinking?.end();
    text.end();
  }
}

type StreamedText = { add(text: string): void; end(): void };

function openThinkingView({ screen, thinkingView }: ResponseViewOptions): StreamedText {
  const region = openLiveRegion(screen);
  let startedAt: number | undefined;
  let words = 0;
  let isInWord = false;
  return {
    add(text) {
      startedAt ??= performance.now();
      // A word that continues from the previous chunk is not counted again.
      words += `${isInWord ? "-" : " "}${text}`.match(/\s\S/gu)?.length ?? 0;
      isInWord = /\S$/u.test(text) || (text === "" && isInWord);
      if (thinkingView === "shown") screen.write(screen.style("dim", sanitizeText(text)));
      if (thinkingView === "folded") region.show([screen.style("dim", `Thinking… ${words} words`)]);
    },
    end() {
      if (startedAt === undefined || thinkingView === "hidden") return;
      const line = `Thought for ${formatDuration((performance.now() - startedAt) / 1000)} (${words} words)`;
      if (thinkingView === "shown") screen.write("\n");
      region.show([screen.style("dim", truncateToWidth(line, screen.columns() - 1)), ""]);
      region.commit();
      startedAt = undefined;
    },
  };
}

function openPlainView(screen: Screen): StreamedText {
  let last = "";
  return {
    add(text) {
      last = text;
      screen.write(screen.isTerminal ? sanitizeText(text) : text);
    },
    end() {
      if (last !== "" && !last.endsWith("\n")) screen.write("\n");
    },
  };
}
