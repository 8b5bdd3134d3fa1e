import { type Actor, onlyFromAdmin } from "../../access/authenticate.ts";
import { invalidField } from "../../failures.ts";
import type { KeepAlive } from "../../scheduling/keep-alive.ts";
import { parseKeepAlive } from "../../scheduling/parse-keep-alive.ts";

/** An Ollama field that clients also send to this API. Without it the server's default applies. */
export function readKeepAlive(
  value: number | string | null | undefined,
  actor: Actor,
): { readonly keepAlive?: KeepAlive } {
  if (value === undefined || value === null || value === "") return {};
  const parsed = parseKeepAlive(value);
  const keepAlive = onlyFromAdmin(actor, parsed);
  if (parsed !== undefined) return keepAlive === undefined ? {} : { keepAlive };
  const reason = `is "${value}"; use seconds or a duration such as "5m"`;
  throw invalidField("keep_alive", reason);
}
