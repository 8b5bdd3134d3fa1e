import { readUntil } from "./splitting/read-text.ts";
import { type AnswerEvent, splitEvents, textDelta } from "./splitting/split-events.ts";

/**
 * Ends the visible text at the first stop sequence, which is never emitted: text that may be the beginning of one
 * is held back until the next characters decide, everything before it goes on at once. After a match the source
 * is left, and `stop-sequence-match` is the last event. Of several that begin at the same place the longest wins.
 */
export async function* holdBackStops(
  events: AsyncIterable<AnswerEvent>,
  stops: readonly string[],
): AsyncGenerator<AnswerEvent> {
  // An empty stop sequence would match before the first character.
  const markers = stops.filter((stop) => stop !== "");
  if (markers.length === 0) {
    yield* events;
    return;
  }
  yield* splitEvents(events, function* findStop(scanner, emit) {
    // A half stop sequence at the end is what the model said, so it is kept.
    const found = yield* readUntil(scanner, { markers, heldAtEnd: "keep" }, (piece) =>
      emit(textDelta(piece)),
    );
    if (found !== undefined) emit({ type: "stop-sequence-match", stopSequence: found });
  });
}
