import { nextOf, peek, skipSpace } from "../splitting/read-text.ts";
import type { Scanner, Steps } from "../splitting/scanner.ts";

/**
 * Reads one JSON value and hands on its text exactly as written, as it comes. Only brackets and strings are
 * followed; whether it is JSON in all details is for the parser at its end. False when the text ended before.
 */
export function* readJsonText(scanner: Scanner, onText: (text: string) => void): Steps<boolean> {
  const first = yield* peek(scanner);
  const isNested = first === "{" || first === "[" || first === '"';
  const follow = isNested ? followNested() : followScalar;
  for (;;) {
    const { length, isWhole } = follow(scanner.unread);
    if (length > 0) onText(scanner.take(length).text);
    if (isWhole) return true;
    if (scanner.endedBy !== undefined) return false;
    yield;
  }
}

/** How much of the text belongs to the value, and whether the value ends there. */
type Follow = (text: string) => { readonly length: number; readonly isWhole: boolean };

function followNested(): Follow {
  let depth = 0;
  let isInString = false;
  let isEscaped = false;
  return (text) => {
    for (let at = 0; at < text.length; at += 1) {
      const character = text.charAt(at);
      if (isEscaped) isEscaped = false;
      else if (isInString) {
        if (character === "\\") isEscaped = true;
        if (character === '"') isInString = false;
      } else if (character === '"') isInString = true;
      else if (character === "{" || character === "[") depth += 1;
      else if (character === "}" || character === "]") depth -= 1;
      if (depth <= 0 && !isInString) return { length: at + 1, isWhole: true };
    }
    return { length: text.length, isWhole: false };
  };
}

/** A number or a word ends before whatever cannot be part of one. */
const followScalar: Follow = (text) => {
  const length = text.search(/[^\w.+-]/u);
  return length === -1 ? { length: text.length, isWhole: false } : { length, isWhole: true };
};

export function* collectJson(scanner: Scanner): Steps<CollectedJson> {
  let text = "";
  const isWhole = yield* readJsonText(scanner, (part) => {
    text += part;
  });
  return { text, isWhole };
}

export type CollectedJson = { readonly text: string; readonly isWhole: boolean };

/** The next character that is no white space, taken if it is one of those asked for. */
export function* takeSign(scanner: Scanner, signs: string): Steps<string | undefined> {
  yield* skipSpace(scanner);
  const sign = yield* nextOf(scanner, signs.split(""));
  if (sign !== undefined) scanner.take(sign.length);
  return sign;
}
