import { setImmediate as nextTurn } from "node:timers/promises";
import type { StreamedResponse } from "@hearth-and-keep/http-service";
import { type FlatValue, LazyList } from "../../models/metadata/flatten-metadata.ts";

const maxChunkCharacters = 64 * 1024;
const maxTurnMilliseconds = 10;

/** A response that is too large to be written at once: other requests take their turns between its chunks. */
export function streamJson(value: unknown): StreamedResponse {
  return {
    status: 200,
    headers: { "content-type": "application/json; charset=utf-8" },
    chunks: takeTurns(writeJson(value)),
    keepAliveChunk: " ",
    formatError: () => "",
  };
}

async function* takeTurns(texts: Iterable<string>): AsyncGenerator<string> {
  let text = "";
  let turnStartedAt = performance.now();
  for (const part of texts) {
    text += part;
    const isLong = performance.now() - turnStartedAt > maxTurnMilliseconds;
    if (text.length < maxChunkCharacters && !isLong) continue;
    yield text;
    text = "";
    if (!isLong) continue;
    await nextTurn();
    turnStartedAt = performance.now();
  }
  yield text;
}

/** The JSON text of a value, with lazy lists as arrays. */
function* writeJson(value: unknown): Generator<string> {
  if (value instanceof LazyList) yield* writeItems(value.items);
  else if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    let separator = "{";
    for (const [key, member] of Object.entries(value)) {
      yield `${separator}${JSON.stringify(key)}:`;
      yield* writeJson(member);
      separator = ",";
    }
    yield separator === "{" ? "{}" : "}";
  } else yield JSON.stringify(value);
}

function* writeItems(items: Iterable<FlatValue>): Generator<string> {
  let separator = "[";
  for (const item of items) {
    yield separator + JSON.stringify(item);
    separator = ",";
  }
  yield separator === "[" ? "[]" : "]";
}
