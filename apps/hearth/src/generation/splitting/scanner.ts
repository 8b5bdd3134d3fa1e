/**
 * @module
 * Reading text that arrives in cuts: a scanner that holds what is not decided yet, the few ways of reading from
 * it, and the loop that feeds it from a stream of events.
 * Promises that what a program reads depends on the characters alone, never on where the engine cut them.
 * A program is a generator that yields when it needs more text. Imported by the files of `generation/` only.
 */
import type { TextDelta, TokenProbability } from "@hearth-and-keep/engine";

/** Text with the tokens that begin in it. */
export type Piece = Omit<TextDelta, "type">;

/** Runs until it needs more text, yields, and is resumed when there is more or when there will be none. */
export type Steps<Result = void> = Generator<void, Result, void>;

/** `length` tells that what is held may be the beginning of something that was cut off. */
export type TextEnd = "stop" | "length";

export class Scanner {
  #pieces: Piece[] = [];
  #remembered: Piece[] | undefined;
  #unread = "";
  #end: TextEnd | undefined;

  get unread(): string {
    return this.#unread;
  }

  get endedBy(): TextEnd | undefined {
    return this.#end;
  }

  push(piece: Piece): void {
    this.#pieces.push(piece);
    this.#unread += piece.text;
  }

  end(reason: TextEnd): void {
    this.#end = reason;
  }

  take(length: number): Piece {
    const taken: Piece[] = [];
    let missing = length;
    while (missing > 0) {
      const first = this.#pieces.shift();
      if (first === undefined) break;
      const [head, tail] = cutPiece(first, missing);
      if (tail !== undefined) this.#pieces.unshift(tail);
      missing -= head.text.length;
      taken.push(head);
    }
    this.#unread = this.#unread.slice(length);
    this.#remembered?.push(...taken);
    return joinPieces(taken);
  }

  /** From here on what is taken is kept, so that `rewind` can make it unread again. */
  remember(): void {
    this.#remembered = [];
  }

  get remembered(): string {
    return joinPieces(this.#remembered ?? []).text;
  }

  rewind(): void {
    const pieces = this.#remembered ?? [];
    this.#remembered = undefined;
    this.#pieces.unshift(...pieces);
    this.#unread = joinPieces(pieces).text + this.#unread;
  }

  forget(): void {
    this.#remembered = undefined;
  }
}

/** A token that reaches over the cut goes with the part in which it begins. */
function cutPiece(piece: Piece, length: number): [Piece, Piece | undefined] {
  if (piece.text.length <= length) return [piece, undefined];
  const head = piece.text.slice(0, length);
  const tail = piece.text.slice(length);
  if (piece.tokens === undefined) return [{ text: head }, { text: tail }];
  let begin = 0;
  const isInHead = piece.tokens.map((token) => {
    const begins = begin;
    begin += token.text.length;
    return begins < length;
  });
  return [
    { text: head, tokens: piece.tokens.filter((_, index) => isInHead[index]) },
    { text: tail, tokens: piece.tokens.filter((_, index) => !isInHead[index]) },
  ];
}

function joinPieces(pieces: readonly Piece[]): Piece {
  const text = pieces.map((piece) => piece.text).join("");
  const tokens: readonly TokenProbability[] = pieces.flatMap((piece) => piece.tokens ?? []);
  return pieces.some((piece) => piece.tokens !== undefined) ? { text, tokens } : { text };
}
