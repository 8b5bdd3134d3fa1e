import {
  peek,
  peekAfterWhitespace,
  peekLiteral,
  skipWhitespace,
  takeLiteral,
} from "../stream-parser/read-text.ts";
import type { ParserSteps, Scanner } from "../stream-parser/scanner.ts";

export const fence = "```";

/** Consumes the start of a code block, with its language, and returns whether there was one. */
export function* takeFence(scanner: Scanner): ParserSteps<boolean> {
  if ((yield* peekAfterWhitespace(scanner)) !== "`") return false;
  yield* skipWhitespace(scanner);
  if ((yield* peekLiteral(scanner, [fence])) === undefined) return false;
  scanner.take(fence.length);
  while (/^[A-Za-z]$/u.test(yield* peek(scanner))) scanner.take(1);
  return true;
}

/** Consumes the end of a code block if it comes next. */
export function* takeFenceEnd(scanner: Scanner): ParserSteps {
  if ((yield* peekAfterWhitespace(scanner)) !== "`") return;
  yield* skipWhitespace(scanner);
  yield* takeLiteral(scanner, fence);
}
