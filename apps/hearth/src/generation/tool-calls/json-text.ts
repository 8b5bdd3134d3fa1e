import { peek, peekLiteral, skipWhitespace } from "../stream-parser/read-text.ts";
import type { ParserSteps, Scanner } from "../stream-parser/scanner.ts";

/**
 * Reads one JSON value and passes on its text verbatim as it arrives. Tracks only brackets and strings; the JSON parser
 * validates the complete value. Returns false if the text ends first.
 */
function* readJsonText(scanner: Scanner, onText: (text: string) => void): ParserSteps<boolean> {
  const first = yield* peek(scanner);
  const isNested = first === "{" || first === "[" || first === '"';
  const scan = isNested ? scanNested() : scanScalar;
  for (;;) {
    const { length, isComplete } = scan(scanner.unread);
    if (length > 0) onText(scanner.take(length).text);
    if (isComplete) return true;
    if (scanner.endedBy !== undefined) return false;
    yield;
  }
}

/** Returns how much of the text belongs to the value, and whether the value ends there. */
type ScanValue = (text: string) => { readonly length: number; readonly isComplete: boolean };

function scanNested(): ScanValue {
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
      if (depth <= 0 && !isInString) return { length: at + 1, isComplete: true };
    }
    return { length: text.length, isComplete: false };
  };
}

/** A number or a literal ends before the first character that cannot be part of it. */
const scanScalar: ScanValue = (text) => {
  const length = text.search(/[^\w.+-]/u);
  return length === -1 ? { length: text.length, isComplete: false } : { length, isComplete: true };
};

export function* collectJson(scanner: Scanner): ParserSteps<CollectedJson> {
  let text = "";
  const isComplete = yield* readJsonText(scanner, (chunk) => {
    text += chunk;
  });
  return { text, isComplete };
}

export type CollectedJson = { readonly text: string; readonly isComplete: boolean };

/** Skips whitespace and consumes the next character if it is one of `characters`. */
export function* takeCharacter(scanner: Scanner, characters: string): ParserSteps<string | undefined> {
  yield* skipWhitespace(scanner);
  const character = yield* peekLiteral(scanner, characters.split(""));
  if (character !== undefined) scanner.take(character.length);
  return character;
}
