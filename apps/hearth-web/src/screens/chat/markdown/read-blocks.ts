/**
 * @module
 * Markdown that is still being written: read into blocks, of which only the last is read again when more comes, and
 * drawn as elements, never as HTML. Promises that nothing in it loads from elsewhere, runs, or reaches outside its
 * own box, whatever a model says.
 * Imported by the chat's turns.
 */
import { Lexer, type Token } from "marked";

export type Blocks = {
  /** All that was read. */
  readonly text: string;
  /** Blocks that no further text changes; the same objects as before. */
  readonly settled: readonly Token[];
  /** Where in the text the rest begins. */
  readonly from: number;
  readonly open: readonly Token[];
};

const noBlocks: Blocks = { text: "", settled: [], from: 0, open: [] };

/** A line this long is no prose, and reading it as Markdown takes seconds; it is shown as it is. */
const mostLineCharacters = 20_000;

/** Goes on from what was read before when the text only grew. */
export function readBlocks(text: string, before: Blocks = noBlocks): Blocks {
  if (text === before.text) return before;
  const isGrown = text.startsWith(before.text);
  const [settled, from] = isGrown ? [before.settled, before.from] : [[], 0];
  const rest = text.slice(from);
  if (hasEndlessLine(rest)) return { text, settled, from, open: [plain(rest)] };
  const tokens = lex(rest);
  // A list or a quote goes on after an empty line, so the last block that is more than space stays open.
  const last = tokens.findLastIndex(({ type }) => type !== "space");
  const done = last <= 0 ? [] : tokens.slice(0, last);
  const length = done.reduce((sum, { raw }) => sum + raw.length, 0);
  return { text, settled: [...settled, ...done], from: from + length, open: tokens.slice(done.length) };
}

function lex(text: string): Token[] {
  const tokens = new Lexer({ gfm: true }).lex(text);
  // The lexer turns some line ends into its own; then lengths are no longer those of the text.
  const sum = tokens.reduce((length, { raw }) => length + raw.length, 0);
  return sum === text.length ? tokens : [joined(tokens, text)];
}

/** As one block, when where each begins cannot be told. */
function joined(tokens: Token[], raw: string): Token {
  return { type: "group", raw, tokens };
}

function plain(raw: string): Token {
  return { type: "plain", raw };
}

function hasEndlessLine(text: string): boolean {
  for (let start = 0; start < text.length; ) {
    const end = text.indexOf("\n", start);
    if ((end === -1 ? text.length : end) - start > mostLineCharacters) return true;
    if (end === -1) return false;
    start = end + 1;
  }
  return false;
}
