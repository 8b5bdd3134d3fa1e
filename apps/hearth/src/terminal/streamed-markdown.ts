import { type Screen, sanitizeText } from "@hearth-and-keep/terminal";
import { openLiveRegion } from "./live-region.ts";
import { type Block, parseMarkdown, renderBlock } from "./markdown.ts";

/** Renders Markdown while it is being generated. */
export type StreamedMarkdown = { add(text: string): void; end(): void };

const drawIntervalMilliseconds = 40;

/**
 * Complete blocks are printed once; only the last block, which may still change, is redrawn. The cost of a chunk depends
 * on the size of its block, not on the length of the response.
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
    const blocks = parseMarkdown(unfinished);
    const complete = isLast ? blocks.length : countCompleteBlocks(blocks, unfinished);
    for (const block of blocks.slice(0, complete)) {
      region.show(render(block));
      region.commit();
      isFirst = false;
      unfinished = unfinished.slice(block.raw.length);
    }
    const open = blocks.slice(complete);
    if (open.length > 0)
      region.show(
        open.flatMap((block, index) => (index === 0 ? render(block) : ["", ...renderBlock(block, screen)])),
      );
  };
  return {
    add(text) {
      unfinished += sanitizeText(text);
      timer ??= setTimeout(() => draw(false), drawIntervalMilliseconds);
    },
    end: () => draw(true),
  };
}

/** All blocks but the last. If the parser changed the text, offsets do not match, and no block counts as complete. */
function countCompleteBlocks(blocks: readonly Block[], text: string): number {
  const complete = blocks.slice(0, -1);
  const isUnchanged = text.startsWith(complete.map(({ raw }) => raw).join(""));
  return isUnchanged ? complete.length : 0;
}
