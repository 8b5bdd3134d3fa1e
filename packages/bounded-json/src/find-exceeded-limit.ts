/** What a JSON body may hold besides its bytes: a small one can be costly to parse, or too deep to copy. */
export type JsonLimits = {
  /** Objects and arrays inside each other. */
  readonly maxDepth: number;
  /** Objects, arrays and members of objects. */
  readonly maxNodes: number;
  /** Strings, and commas between values of any kind. */
  readonly maxValues: number;
};

/** Far above what any client sends; the longest legitimate arrays are tokens. Parsing stays below 250 ms. */
export const defaultJsonLimits: JsonLimits = { maxDepth: 100, maxNodes: 100_000, maxValues: 1_000_000 };

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;

/**
 * Returns the limit that the text exceeds, in one pass and before anything is parsed. Does not check the syntax:
 * the parser does that afterwards, and sees the same structure in every text that it accepts.
 */
export function findExceededLimit(
  text: Buffer,
  { maxDepth, maxNodes, maxValues }: JsonLimits = defaultJsonLimits,
): "too-deep" | "too-complex" | undefined {
  let depth = 0;
  let nodes = 0;
  let values = 0;
  for (let index = 0; index < text.length; index += 1) {
    switch (text[index] ?? 0) {
      case quote:
        values += 1;
        index = endOfString(text, index);
        break;
      case openBrace:
      case openBracket:
        depth += 1;
        nodes += 1;
        if (depth > maxDepth) return "too-deep";
        break;
      case closeBrace:
      case closeBracket:
        depth -= 1;
        break;
      case colon:
        nodes += 1;
        break;
      case comma:
        values += 1;
        break;
      default:
        break;
    }
    if (nodes > maxNodes || values > maxValues) return "too-complex";
  }
  return undefined;
}

/** How far to read byte by byte after an escaped quote: there may be millions of them, and a search for each is slow. */
const bytesAfterEscape = 4096;

/** The index of the closing quote, or of the end of the text. */
function endOfString(text: Buffer, start: number): number {
  for (let index = start + 1; ; ) {
    const next = text.indexOf(quote, index);
    if (next === -1) return text.length;
    if (!isEscaped(text, start, next)) return next;
    const end = Math.min(text.length, next + bytesAfterEscape);
    for (index = next + 1; index < end; index += text[index] === backslash ? 2 : 1) {
      if (text[index] === quote) return index;
    }
  }
}

function isEscaped(text: Buffer, start: number, end: number): boolean {
  let first = end;
  while (first - 1 > start && text[first - 1] === backslash) first -= 1;
  return (end - first) % 2 === 1;
}
