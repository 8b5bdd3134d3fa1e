import { parseBoundedJson } from "@hearth-and-keep/bounded-json";
import type { JsonObject } from "@hearth-and-keep/engine";
import { isJsonObject } from "@hearth-and-keep/engine";

/** The API allows any text here: agents send malformed calls back so that the model can correct them. */
export function parseArguments(text: string): JsonObject {
  const parsed = parseBoundedJson(text);
  return isJsonObject(parsed) ? parsed : { malformed: text };
}
