import { invalidField } from "../../failures.ts";
import type { KeepAlive } from "../../scheduling/keep-alive.ts";
import { parseKeepAlive } from "../../scheduling/parse-keep-alive.ts";

/** Undefined applies the server's default. */
export function readKeepAlive(value: string | number | null | undefined): KeepAlive | undefined {
  if (value === null || value === undefined) return undefined;
  const keepAlive = parseKeepAlive(value);
  if (keepAlive !== undefined) return keepAlive;
  throw invalidField("", `time: invalid duration ${JSON.stringify(value)}`);
}
