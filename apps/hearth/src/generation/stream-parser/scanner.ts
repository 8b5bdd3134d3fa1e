/**
 * @module
 * Parsing of text that arrives in chunks: a scanner that buffers undecided text, functions that read from it, and the
 * loop that feeds it from a stream of events. A parser is a generator that yields when it needs more text.
 * Guarantees that the result depends on the characters alone, never on the chunk boundaries.
 * Imported by the files of `generation/` only.
 */
import type { TextDelta, TokenProbability } from "@hearth-and-keep/engine";

/** Text with the tokens that start in it. */
export type TextChunk = Omit<TextDelta, "type">;

/** Runs until it needs more text, yields, and is resumed when more has arrived or the text has ended. */
export type ParserSteps<Result = void> = Generator<void, Result, void>;

/** After `length`, the buffered text may be the start of something truncated. */
export type TextEnd = "stop" | "length";

export class Scanner {
  #chunks: TextChunk[] = [];
  #recording: TextChunk[] | undefined;
  #unread = "";
  #end: TextEnd | undefined;

  get unread(): string {
    return this.#unread;
  }

  get endedBy(): TextEnd | undefined {
    return this.#end;
  }

  push(chunk: TextChunk): void {
    this.#chunks.push(chunk);
    this.#unread += chunk.text;
  }

  end(reason: TextEnd): void {
    this.#end = reason;
  }

  take(length: number): TextChunk {
    const taken: TextChunk[] = [];
    let missing = length;
    while (missing > 0) {
      const first = this.#chunks.shift();
      if (first === undefined) break;
      const [head, tail] = splitChunk(first, missing);
      if (tail !== undefined) this.#chunks.unshift(tail);
      missing -= head.text.length;
      taken.push(head);
    }
    this.#unread = this.#unread.slice(length);
    this.#recording?.push(...taken);
    return joinChunks(taken);
  }

  /** From here on, `rewind` makes everything that is taken unread again. */
  startRecording(): void {
    this.#recording = [];
  }

  get recorded(): string {
    return joinChunks(this.#recording ?? []).text;
  }

  rewind(): void {
    const chunks = this.#recording ?? [];
    this.#recording = undefined;
    this.#chunks.unshift(...chunks);
    this.#unread = joinChunks(chunks).text + this.#unread;
  }

  stopRecording(): void {
    this.#recording = undefined;
  }
}

/** A token that spans the boundary belongs to the half in which it starts. */
function splitChunk(chunk: TextChunk, length: number): [TextChunk, TextChunk | undefined] {
  if (chunk.text.length <= length) return [chunk, undefined];
  const head = chunk.text.slice(0, length);
  const tail = chunk.text.slice(length);
  if (chunk.tokens === undefined) return [{ text: head }, { text: tail }];
  let offset = 0;
  const isInHead = chunk.tokens.map((token) => {
    const start = offset;
    offset += token.text.length;
    return start < length;
  });
  return [
    { text: head, tokens: chunk.tokens.filter((_, index) => isInHead[index]) },
    { text: tail, tokens: chunk.tokens.filter((_, index) => !isInHead[index]) },
  ];
}

function joinChunks(chunks: readonly TextChunk[]): TextChunk {
  const text = chunks.map((chunk) => chunk.text).join("");
  const tokens: readonly TokenProbability[] = chunks.flatMap((chunk) => chunk.tokens ?? []);
  return chunks.some((chunk) => chunk.tokens !== undefined) ? { text, tokens } : { text };
}
