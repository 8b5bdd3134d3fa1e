import type { Block, CountTokensBody } from "../schema.ts";

export type LocatedBlock = {
  readonly block: Block;
  /** Its path in the body. */
  readonly field: string;
};

/** Every block of a request, including those in tool results and documents. */
export function* nestedBlocks(messages: CountTokensBody["messages"]): Generator<LocatedBlock> {
  for (const [index, { content }] of messages.entries()) {
    yield* blocksIn(content, `messages.${index}.content`);
  }
}

function* blocksIn(content: string | readonly Block[] | undefined, field: string): Generator<LocatedBlock> {
  if (content === undefined || typeof content === "string") return;
  for (const [index, block] of content.entries()) {
    const inside = `${field}.${index}`;
    yield { block, field: inside };
    if (block.type === "tool_result") yield* blocksIn(block.content ?? undefined, `${inside}.content`);
    if (block.type === "document" && block.source.type === "content") {
      yield* blocksIn(block.source.content, `${inside}.source.content`);
    }
  }
}
