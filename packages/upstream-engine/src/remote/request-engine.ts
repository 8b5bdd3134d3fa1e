import type { EngineClient, EngineHttpRequest } from "../wire/engine-client.ts";
import { type Fields, fieldsOf } from "../wire/json-fields.ts";
import { WireError } from "../wire/wire-error.ts";

/** Returns the fields of a response with status 200 and throws a WireError otherwise, as `stream` does. */
export async function requestEngine(
  client: EngineClient,
  request: EngineHttpRequest,
  signal: AbortSignal,
): Promise<Fields> {
  const { value, ...head } = await client.request(request, signal);
  if (head.status !== 200) throw new WireError({ kind: "error-response", value, ...head });
  return fieldsOf(value);
}
