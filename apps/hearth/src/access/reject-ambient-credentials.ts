import type { RequestHead } from "@hearth-and-keep/http-service";
import { requestFailure } from "../failures.ts";
import { isSameOrigin } from "./allowed-sites.ts";

/**
 * Rejects unsafe methods with Basic credentials from a page of another origin. Browsers attach a stored Basic password to
 * every request to this server, whichever page sends it. Clients that are not browsers send neither `Origin` nor
 * `Sec-Fetch-Site` and may use Basic everywhere.
 */
export function rejectAmbientCredentials({ method, headers }: RequestHead): void {
  if (method === "GET" || method === "HEAD" || method === "OPTIONS") return;
  if (!isBasic(headers["authorization"]) || !isFromBrowser(headers)) return;
  const { host, origin } = headers;
  if (typeof host === "string" && typeof origin === "string" && isSameOrigin(origin, host)) return;
  throw requestFailure({ kind: "site-forbidden", header: "origin" });
}

function isBasic(header: string | readonly string[] | undefined): boolean {
  return [header ?? []].flat().some((text) => /^\s*basic\b/iu.test(text));
}

/** `Sec-Fetch-Mode` is no indication, because Node's fetch sends it too. */
function isFromBrowser(headers: RequestHead["headers"]): boolean {
  return headers["origin"] !== undefined || headers["sec-fetch-site"] !== undefined;
}
