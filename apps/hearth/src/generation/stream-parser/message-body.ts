import { type CollectedText, collectUntil, peekLiteral, readUntil } from "./read-text.ts";
import type { ParserSteps, Scanner, TextChunk } from "./scanner.ts";
import { type Emit, textDelta } from "./split-events.ts";

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

export type MessageMarkers = {
  /** What a header can start with. */
  readonly headerStarts: readonly string[];
  /** Ends a header. */
  readonly bodyStart: string;
  readonly messageEnds: readonly string[];
};

/**
 * Reads the header of the next message, up to the start of its body. Undefined if there was none: text in its place is
 * emitted, and a beginning that the token limit cut is dropped.
 */
export function* readMessageHeader(
  scanner: Scanner,
  { headerStarts, bodyStart, messageEnds }: MessageMarkers,
  emit: Emit,
): ParserSteps<CollectedText | undefined> {
  const start = yield* peekLiteral(scanner, headerStarts);
  if (start !== undefined) return yield* collectUntil(scanner, [bodyStart]);
  const isTruncatedHeader = headerStarts.some((text) => text.startsWith(scanner.unread));
  if (isTruncatedHeader && scanner.endedBy === "length") scanner.take(scanner.unread.length);
  else yield* readMessageBody(scanner, messageEnds, (chunk) => emit(textDelta(chunk)));
  return undefined;
}
