/**
 * @module
 * Test helpers for grammars: a recognizer that checks whether a grammar accepts a string, a generator of schemas with
 * valid documents, and a validator. All are independent of how our grammars are built.
 * Imported by the tests of this package only.
 */
import type { Grammar } from "../grammar.ts";
import { StackParser } from "../parse-stacks.ts";

/** Whether the grammar accepts the complete string. */
export function acceptsText(grammar: Grammar, source: string): boolean {
  const parser = new StackParser(grammar);
  let stacks = parser.start();
  for (const character of source) stacks = parser.advance(stacks, character.codePointAt(0) ?? 0);
  return stacks.has(parser.end);
}
