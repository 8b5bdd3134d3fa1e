import { writeUsage } from "../response-fields.ts";
import type { TextChunk, TextEvent } from "./stream-events.ts";

/** The choices and usage of a complete response. */
export async function writeResponse(events: AsyncIterable<TextEvent>) {
  const choices: TextChunk[][] = [];
  let usage: object | undefined;
  for await (const event of events) {
    if (event.type === "usage") usage = writeUsage(event.usage);
    else (choices[event.index] ??= []).push(event.chunk);
  }
  return { choices: choices.map((chunks, index) => ({ index, ...joinChunks(chunks) })), usage };
}

function joinChunks(chunks: readonly TextChunk[]): TextChunk {
  const lists = chunks.flatMap(({ logprobs }) => logprobs ?? []);
  return {
    text: chunks.map(({ text }) => text).join(""),
    logprobs:
      lists.length === 0
        ? null
        : {
            tokens: lists.flatMap(({ tokens }) => tokens),
            token_logprobs: lists.flatMap((list) => list.token_logprobs),
            top_logprobs: lists.flatMap((list) => list.top_logprobs),
            text_offset: lists.flatMap((list) => list.text_offset),
          },
    finish_reason: chunks.at(-1)?.finish_reason ?? null,
  };
}
