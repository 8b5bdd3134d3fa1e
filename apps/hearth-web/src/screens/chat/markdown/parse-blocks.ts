/**
 * @module
 * Markdown of streamed responses. It is parsed into blocks, of which only the last is parsed again when text arrives,
 * and rendered as React elements, never as HTML. Whatever a model writes, nothing in it is loaded from another server,
 * executed, or drawn outside of its box.
 * Imported by the transcript; other screens use its code block.
 */
import { Lexer, type Token } from "marked";

export type Blocks = {
  /** The text that was parsed. */
  readonly text: string;
  /** Blocks that further text cannot change; the same objects on every call. */
  readonly settled: readonly Token[];
  /** Offset of the first open block in the text. */
  readonly openOffset: number;
  readonly open: readonly Token[];
};

const noBlocks: Blocks = { text: "", settled: [], openOffset: 0, open: [] };

/** Parsing longer lines as Markdown takes seconds, so they are shown as plain text. */
const maxLineCharacters = 20_000;

/** Continues from the previous result when text was only appended. */
export function parseBlocks(text: string, previous: Blocks = noBlocks): Blocks {
  if (text === previous.text) return previous;
  const isAppended = text.startsWith(previous.text);
  const [settled, openOffset] = isAppended ? [previous.settled, previous.openOffset] : [[], 0];
  const rest = text.slice(openOffset);
  if (hasLongLine(rest)) return { text, settled, openOffset, open: [plainBlock(rest)] };
  const tokens = lex(rest);
  // A list or a quote can continue after an empty line, so the last block that is not space stays open.
  const last = tokens.findLastIndex(({ type }) => type !== "space");
  const done = last <= 0 ? [] : tokens.slice(0, last);
  const length = done.reduce((sum, { raw }) => sum + raw.length, 0);
  return {
    text,
    settled: [...settled, ...done],
    openOffset: openOffset + length,
    open: tokens.slice(done.length),
  };
}

function lex(text: string): Token[] {
  const tokens = new Lexer({ gfm: true }).lex(text);
  // The lexer normalizes line endings; the lengths of its tokens then no longer add up to the text.
  const sum = tokens.reduce((length, { raw }) => length + raw.length, 0);
  return sum === text.length ? tokens : [groupBlock(tokens, text)];
}

/** All tokens as one block, when their offsets are unknown. */
function groupBlock(tokens: Token[], raw: string): Token {
  return { type: "group", raw, tokens };
}

function plainBlock(raw: string): Token {
  return { type: "plain", raw };
}

function hasLongLine(text: string): boolean {
  for (let start = 0; start < text.length; ) {
    const end = text.indexOf("\n", start);
    if ((end === -1 ? text.length : end) - start > maxLineCharacters) return true;
    if (end === -1) return false;
    start = end + 1;
  }
  return false;
}
