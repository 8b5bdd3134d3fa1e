import { requestFailure } from "../../../failures.ts";
import type { KeepAlive } from "../../../scheduling/keep-alive.ts";
import { parseKeepAlive } from "../../../scheduling/parse-keep-alive.ts";

/** Undefined leaves it to the server. */
export function readKeepAlive(value: string | number | null | undefined): KeepAlive | undefined {
  if (value === null || value === undefined) return undefined;
  const keepAlive = parseKeepAlive(value);
  if (keepAlive !== undefined) return keepAlive;
  const reason = `time: invalid duration ${JSON.stringify(value)}`;
  throw requestFailure({ kind: "request-invalid", place: "", reason });
}
