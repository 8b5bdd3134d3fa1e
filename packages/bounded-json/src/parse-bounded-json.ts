import { findExceededLimit } from "./find-exceeded-limit.ts";

/** Undefined when the text is not JSON or exceeds the limits. */
export function parseBoundedJson(text: string): unknown {
  if (findExceededLimit(Buffer.from(text)) !== undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
