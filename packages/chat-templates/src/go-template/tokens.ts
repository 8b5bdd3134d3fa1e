import { TemplateError } from "../template-error.ts";

/** A token of a template: text, or an element of an action. */
export type Token = {
  readonly kind:
    | "text"
    | "open"
    | "close"
    | "identifier"
    | "field"
    | "variable"
    | "string"
    | "raw-string"
    | "character"
    | "number"
    | "punctuation";
  readonly text: string;
  /** Whether whitespace precedes it: `.A .B` are two values, `.A.B` is one. */
  readonly hasSpaceBefore: boolean;
};

const patterns: readonly (readonly [kind: Token["kind"], pattern: RegExp])[] = [
  ["variable", /\$[\p{L}\p{Nd}_]*/uy],
  [
    "number",
    /[+-]?(?:0[xX][\da-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)/uy,
  ],
  ["field", /\.[\p{L}_][\p{L}\p{Nd}_]*/uy],
  ["identifier", /[\p{L}_][\p{L}\p{Nd}_]*/uy],
  ["string", /"(?:[^"\\\n]|\\.)*"/uy],
  ["raw-string", /`[^`]*`/uy],
  ["character", /'(?:[^'\\\n]|\\(?:x[\da-fA-F]{2}|u[\da-fA-F]{4}|U[\da-fA-F]{8}|[0-7]{3}|.))'/uy],
  ["punctuation", /:=|[|(),=.]/uy],
];
const space = /[ \t\r\n]+/uy;
const trimmedCharacters = " \t\r\n";

/** Splits a template into tokens and removes the whitespace trimmed by `{{-` and `-}}`. */
export function readTokens(source: string): readonly Token[] {
  const tokens: Token[] = [];
  let position = 0;
  let isTrimmed = false;
  for (;;) {
    const open = source.indexOf("{{", position);
    const text = source.slice(position, open === -1 ? undefined : open);
    const startsTrim = open !== -1 && /^-[ \t\r\n]/u.test(source.slice(open + 2, open + 4));
    pushText(tokens, text, { start: isTrimmed, end: startsTrim });
    if (open === -1) return tokens;
    const action = readAction(source, open + (startsTrim ? 3 : 2));
    tokens.push(...action.tokens);
    position = action.end;
    isTrimmed = action.trimsAfter;
  }
}

function pushText(tokens: Token[], text: string, trim: { start: boolean; end: boolean }): void {
  let from = 0;
  let to = text.length;
  while (trim.start && from < to && trimmedCharacters.includes(text.charAt(from))) from += 1;
  while (trim.end && to > from && trimmedCharacters.includes(text.charAt(to - 1))) to -= 1;
  if (to > from) tokens.push({ kind: "text", text: text.slice(from, to), hasSpaceBefore: false });
}

type Action = { readonly tokens: readonly Token[]; readonly end: number; readonly trimsAfter: boolean };

function readAction(source: string, start: number): Action {
  const comment = readComment(source, start);
  if (comment !== undefined) return comment;
  const tokens: Token[] = [delimiter("open")];
  let position = start;
  for (;;) {
    const spaces = match(space, source, position);
    position += spaces.length;
    if (source.startsWith("}}", position)) return close(tokens, position + 2, false);
    if (spaces !== "" && source.startsWith("-}}", position)) return close(tokens, position + 3, true);
    const token = readToken(source, position, spaces !== "");
    tokens.push(token);
    position += token.text.length;
  }
}

function close(tokens: Token[], end: number, trimsAfter: boolean): Action {
  return { tokens: [...tokens, delimiter("close")], end, trimsAfter };
}

function delimiter(kind: "open" | "close"): Token {
  return { kind, text: "", hasSpaceBefore: true };
}

/** A comment fills its action and has no effect except trimming. */
function readComment(source: string, start: number): Action | undefined {
  const begin = start + match(space, source, start).length;
  // Whitespace before a comment is allowed only after `{{-`.
  if (!source.startsWith("/*", begin) || (begin > start && source.charAt(start - 1) !== "-"))
    return undefined;
  const end = source.indexOf("*/", begin + 2);
  if (end === -1) throw new TemplateError("unclosed comment");
  const after = /[ \t\r\n]+-\}\}|\}\}/uy;
  const ending = match(after, source, end + 2);
  if (ending === "") throw new TemplateError("unexpected text after a comment");
  return { tokens: [], end: end + 2 + ending.length, trimsAfter: ending !== "}}" };
}

function readToken(source: string, position: number, hasSpaceBefore: boolean): Token {
  for (const [kind, pattern] of patterns) {
    const text = match(pattern, source, position);
    if (text !== "") return { kind, text, hasSpaceBefore };
  }
  const found = source.slice(position, position + 12);
  throw new TemplateError(
    found === "" ? "unclosed action" : `unexpected ${JSON.stringify(found)} in an action`,
  );
}

function match(pattern: RegExp, source: string, position: number): string {
  pattern.lastIndex = position;
  return pattern.exec(source)?.[0] ?? "";
}
