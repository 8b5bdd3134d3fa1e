import type { EngineClient, EngineHttpRequest } from "../wire/engine-client.ts";
import { type Fields, fieldsOf } from "../wire/json-fields.ts";
import { WireError } from "../wire/wire-error.ts";

/** The fields of an answer with status 200; everything else is thrown, as the wire does for streams. */
export async function requestEngine(
  client: EngineClient,
  question: EngineHttpRequest,
  signal: AbortSignal,
): Promise<Fields> {
  const { value, ...head } = await client.ask(question, signal);
  if (head.status !== 200) throw new WireError({ kind: "refused", value, ...head });
  return fieldsOf(value);
}
