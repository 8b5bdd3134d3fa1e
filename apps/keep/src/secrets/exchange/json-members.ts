/** A JSON value: a string, an object's members in order, or the source text of anything else. */
export type JsonNode =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "object"; readonly members: readonly JsonMember[] }
  | { readonly kind: "other"; readonly source: string };

export type JsonMember = { readonly key: string; readonly node: JsonNode };

export class TooDeep extends Error {
  override readonly name = "TooDeep";
}

type Cursor = { readonly text: string; at: number };

const blanks = /[ \t\n\r]*/uy;
const untilEndOfPlainValue = /[^,\]} \t\n\r]*/uy;

/**
 * Scans a text that `JSON.parse` has accepted and keeps what it loses: duplicate members, names such as `__proto__`, and
 * the spelling of numbers.
 */
export function scanJson(text: string, maxDepth: number): JsonNode {
  return scanNode({ text, at: 0 }, maxDepth);
}

function scanNode(cursor: Cursor, depthLeft: number): JsonNode {
  skipBlanks(cursor);
  const first = cursor.text[cursor.at];
  if (first === '"') return { kind: "text", text: scanString(cursor) };
  if (first === "{") {
    if (depthLeft === 0) throw new TooDeep();
    return { kind: "object", members: scanMembers(cursor, depthLeft - 1) };
  }
  const begin = cursor.at;
  if (first === "[") skipList(cursor);
  else skipPlainValue(cursor);
  return { kind: "other", source: cursor.text.slice(begin, cursor.at) };
}

function scanMembers(cursor: Cursor, depthLeft: number): readonly JsonMember[] {
  const members: JsonMember[] = [];
  cursor.at += 1;
  for (;;) {
    skipBlanks(cursor);
    if (cursor.text[cursor.at] === "}") break;
    if (cursor.text[cursor.at] === ",") {
      cursor.at += 1;
      skipBlanks(cursor);
    }
    const key = scanString(cursor);
    skipBlanks(cursor);
    // The colon.
    cursor.at += 1;
    members.push({ key, node: scanNode(cursor, depthLeft) });
  }
  cursor.at += 1;
  return members;
}

function scanString(cursor: Cursor): string {
  const begin = cursor.at;
  skipString(cursor);
  // A JSON string literal always parses to a string.
  return JSON.parse(cursor.text.slice(begin, cursor.at)) as string;
}

function skipString(cursor: Cursor): void {
  cursor.at += 1;
  while (cursor.text[cursor.at] !== '"') cursor.at += cursor.text[cursor.at] === "\\" ? 2 : 1;
  cursor.at += 1;
}

function skipList(cursor: Cursor): void {
  let depth = 0;
  do {
    const character = cursor.text[cursor.at];
    if (character === '"') {
      skipString(cursor);
      continue;
    }
    if (character === "[" || character === "{") depth += 1;
    if (character === "]" || character === "}") depth -= 1;
    cursor.at += 1;
  } while (depth > 0);
}

function skipPlainValue(cursor: Cursor): void {
  untilEndOfPlainValue.lastIndex = cursor.at;
  untilEndOfPlainValue.test(cursor.text);
  cursor.at = untilEndOfPlainValue.lastIndex;
}

function skipBlanks(cursor: Cursor): void {
  blanks.lastIndex = cursor.at;
  blanks.test(cursor.text);
  cursor.at = blanks.lastIndex;
}
