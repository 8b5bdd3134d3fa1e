import { readUntil } from "./read-text.ts";
import type { ParserSteps, Scanner, TextChunk } from "./scanner.ts";

/** Starts the header of a message, in formats whose messages have headers. */
export const messageStart = "<|start|>";

/** Reads the body of a message up to one of its ends, which is consumed, or to the start of the next. */
export function* readMessageBody(
  scanner: Scanner,
  ends: readonly string[],
  onChunk: (chunk: TextChunk) => void,
): ParserSteps {
  const search = { markers: [...ends, messageStart], partialMarkerAtEnd: "drop-if-truncated" } as const;
  const marker = yield* readUntil(scanner, search, onChunk);
  // The start of the next message belongs to its header.
  if (marker !== undefined && marker !== messageStart) scanner.take(marker.length);
}
