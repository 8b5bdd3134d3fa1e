import { requestFailure } from "../../failures.ts";
import type { KeepAlive } from "../../scheduling/keep-alive.ts";
import { parseKeepAlive } from "../../scheduling/parse-keep-alive.ts";

/** A field of other servers' clients; without it, or empty, the server decides. */
export function readKeepAlive(value: number | string | null | undefined): { readonly keepAlive?: KeepAlive } {
  if (value === undefined || value === null || value === "") return {};
  const keepAlive = parseKeepAlive(value);
  if (keepAlive !== undefined) return { keepAlive };
  const reason = `is "${value}", neither seconds nor a duration such as "5m"`;
  throw requestFailure({ kind: "request-invalid", place: "keep_alive", reason });
}
