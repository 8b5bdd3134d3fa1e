import { decodeHTMLStrict } from "entities/decode";

/**
 * Decodes the character references of HTML. Strict, so that `R&D` and `&copy` without a semicolon stay as written. Not
 * by the browser's own parser, which the Trusted Types policy of the page blocks.
 */
export function decodeEntities(text: string): string {
  return decodeHTMLStrict(text);
}
