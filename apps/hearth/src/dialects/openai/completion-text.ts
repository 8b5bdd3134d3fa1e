import type { TokenProbability } from "@hearth-and-keep/engine";
import type { AnswerEvent } from "../../generation/answer-request.ts";
import { finishReasonOf, finite, type GenerationEnd } from "./describe-answer.ts";

export type TextPiece = {
  readonly text: string;
  readonly logprobs: TokenList | null;
  readonly finish_reason: string | null;
};

type TokenList = {
  readonly tokens: readonly string[];
  readonly token_logprobs: readonly number[];
  readonly top_logprobs: readonly Readonly<Record<string, number>>[];
  /** Where each token begins in the choice's text. */
  readonly text_offset: readonly number[];
};

/** One choice of a plain completion, `echo` before it; the last piece has no text, but the reason of the end. */
export async function* readTextPieces(
  events: AsyncIterable<AnswerEvent>,
  echo: string,
): AsyncGenerator<TextPiece & { readonly end?: GenerationEnd }> {
  let offset = 0;
  for await (const event of events) {
    if (event.type !== "text-delta" && event.type !== "generation-end") continue;
    if (offset === 0 && echo !== "") {
      yield { text: echo, logprobs: null, finish_reason: null };
      offset = echo.length;
    }
    if (event.type === "generation-end") {
      yield { text: "", logprobs: null, finish_reason: finishReasonOf(event), end: event };
    } else {
      const logprobs = event.tokens === undefined ? null : listTokens(event.tokens, offset);
      yield { text: event.text, logprobs, finish_reason: null };
      offset += event.text.length;
    }
  }
}

function listTokens(tokens: readonly TokenProbability[], start: number): TokenList {
  let next = start;
  return {
    tokens: tokens.map(({ text }) => text),
    token_logprobs: tokens.map(({ logProbability }) => finite(logProbability)),
    top_logprobs: tokens.map(({ alternatives }) =>
      Object.fromEntries(alternatives.map(({ text, logProbability }) => [text, finite(logProbability)])),
    ),
    text_offset: tokens.map(({ text }) => {
      const offset = next;
      next += text.length;
      return offset;
    }),
  };
}

export function joinTextPieces(pieces: readonly TextPiece[]): TextPiece {
  const lists = pieces.flatMap(({ logprobs }) => logprobs ?? []);
  return {
    text: pieces.map(({ text }) => text).join(""),
    logprobs:
      lists.length === 0
        ? null
        : {
            tokens: lists.flatMap(({ tokens }) => tokens),
            token_logprobs: lists.flatMap((list) => list.token_logprobs),
            top_logprobs: lists.flatMap((list) => list.top_logprobs),
            text_offset: lists.flatMap((list) => list.text_offset),
          },
    finish_reason: pieces.at(-1)?.finish_reason ?? null,
  };
}
