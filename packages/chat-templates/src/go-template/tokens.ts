import { TemplateError } from "../template-error.ts";

/** A piece of a template: text, or one of the words and signs of an action. */
export type Token = {
  readonly kind:
    | "text"
    | "open"
    | "close"
    | "word"
    | "field"
    | "variable"
    | "string"
    | "raw-string"
    | "character"
    | "number"
    | "sign";
  readonly text: string;
  /** Whether white space stands before it: `.A .B` are two values, `.A.B` is one. */
  readonly isApart: boolean;
};

const patterns: readonly (readonly [kind: Token["kind"], pattern: RegExp])[] = [
  ["variable", /\$[\p{L}\p{Nd}_]*/uy],
  [
    "number",
    /[+-]?(?:0[xX][\da-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)/uy,
  ],
  ["field", /\.[\p{L}_][\p{L}\p{Nd}_]*/uy],
  ["word", /[\p{L}_][\p{L}\p{Nd}_]*/uy],
  ["string", /"(?:[^"\\\n]|\\.)*"/uy],
  ["raw-string", /`[^`]*`/uy],
  ["character", /'(?:[^'\\\n]|\\(?:x[\da-fA-F]{2}|u[\da-fA-F]{4}|U[\da-fA-F]{8}|[0-7]{3}|.))'/uy],
  ["sign", /:=|[|(),=.]/uy],
];
const space = /[ \t\r\n]+/uy;
const spacesAtEnd = " \t\r\n";

/** Splits a template; the white space that `{{-` and `-}}` take away is gone already. */
export function readTokens(source: string): readonly Token[] {
  const tokens: Token[] = [];
  let place = 0;
  let isTrimmed = false;
  for (;;) {
    const open = source.indexOf("{{", place);
    const text = source.slice(place, open === -1 ? undefined : open);
    const startsTrim = open !== -1 && /^-[ \t\r\n]/u.test(source.slice(open + 2, open + 4));
    pushText(tokens, text, { start: isTrimmed, end: startsTrim });
    if (open === -1) return tokens;
    const action = readAction(source, open + (startsTrim ? 3 : 2));
    tokens.push(...action.tokens);
    place = action.end;
    isTrimmed = action.trimsAfter;
  }
}

function pushText(tokens: Token[], text: string, trim: { start: boolean; end: boolean }): void {
  let from = 0;
  let to = text.length;
  while (trim.start && from < to && spacesAtEnd.includes(text.charAt(from))) from += 1;
  while (trim.end && to > from && spacesAtEnd.includes(text.charAt(to - 1))) to -= 1;
  if (to > from) tokens.push({ kind: "text", text: text.slice(from, to), isApart: false });
}

type Action = { readonly tokens: readonly Token[]; readonly end: number; readonly trimsAfter: boolean };

function readAction(source: string, start: number): Action {
  const comment = readComment(source, start);
  if (comment !== undefined) return comment;
  const tokens: Token[] = [sign("open")];
  let place = start;
  for (;;) {
    const spaces = match(space, source, place);
    place += spaces.length;
    if (source.startsWith("}}", place)) return close(tokens, place + 2, false);
    if (spaces !== "" && source.startsWith("-}}", place)) return close(tokens, place + 3, true);
    const token = readToken(source, place, spaces !== "");
    tokens.push(token);
    place += token.text.length;
  }
}

function close(tokens: Token[], end: number, trimsAfter: boolean): Action {
  return { tokens: [...tokens, sign("close")], end, trimsAfter };
}

function sign(kind: "open" | "close"): Token {
  return { kind, text: "", isApart: true };
}

/** A comment fills its action and leaves nothing but the trimming. */
function readComment(source: string, start: number): Action | undefined {
  const begin = start + match(space, source, start).length;
  // White space before a comment is allowed only behind `{{-`.
  if (!source.startsWith("/*", begin) || (begin > start && source.charAt(start - 1) !== "-"))
    return undefined;
  const end = source.indexOf("*/", begin + 2);
  if (end === -1) throw new TemplateError("it has a comment without an end");
  const after = /[ \t\r\n]+-\}\}|\}\}/uy;
  const ending = match(after, source, end + 2);
  if (ending === "") throw new TemplateError("it has something behind a comment in the same action");
  return { tokens: [], end: end + 2 + ending.length, trimsAfter: ending !== "}}" };
}

function readToken(source: string, place: number, isApart: boolean): Token {
  for (const [kind, pattern] of patterns) {
    const text = match(pattern, source, place);
    if (text !== "") return { kind, text, isApart };
  }
  const found = source.slice(place, place + 12);
  throw new TemplateError(
    found === "" ? "it has an action without an end" : `it has ${JSON.stringify(found)} inside an action`,
  );
}

function match(pattern: RegExp, source: string, place: number): string {
  pattern.lastIndex = place;
  return pattern.exec(source)?.[0] ?? "";
}
