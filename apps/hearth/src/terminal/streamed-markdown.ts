import { openLiveRegion } from "./live-region.ts";
import { type Block, readMarkdown, renderBlock } from "./markdown.ts";
import type { Screen } from "./screen.ts";
import { makeSafe } from "./untrusted-text.ts";

/** Draws Markdown while it is being written. */
export type StreamedMarkdown = { add(text: string): void; end(): void };

const drawEveryMilliseconds = 40;

/**
 * Blocks that are followed by another are printed once and for good; only the last one, which may still become
 * something else, is drawn anew. So the cost of a piece of text is that of its block, however long the answer is.
 */
export function openStreamedMarkdown(screen: Screen): StreamedMarkdown {
  const region = openLiveRegion(screen);
  let unfinished = "";
  let isFirst = true;
  let timer: NodeJS.Timeout | undefined;
  const render = (block: Block): readonly string[] => {
    const lines = renderBlock(block, screen);
    return isFirst ? lines : ["", ...lines];
  };
  const draw = (isLast: boolean): void => {
    clearTimeout(timer);
    timer = undefined;
    const blocks = readMarkdown(unfinished);
    const settled = isLast ? blocks.length : countSettled(blocks, unfinished);
    for (const block of blocks.slice(0, settled)) {
      region.show(render(block));
      region.keep();
      isFirst = false;
      unfinished = unfinished.slice(block.raw.length);
    }
    const open = blocks.slice(settled);
    if (open.length > 0)
      region.show(
        open.flatMap((block, index) => (index === 0 ? render(block) : ["", ...renderBlock(block, screen)])),
      );
  };
  return {
    add(text) {
      unfinished += makeSafe(text);
      timer ??= setTimeout(() => draw(false), drawEveryMilliseconds);
    },
    end: () => draw(true),
  };
}

/** All but the last; none when the parser has changed the text, so that it could not be cut off where they end. */
function countSettled(blocks: readonly Block[], text: string): number {
  const settled = blocks.slice(0, -1);
  const isSame = text.startsWith(settled.map(({ raw }) => raw).join(""));
  return isSame ? settled.length : 0;
}
