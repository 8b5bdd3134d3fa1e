import type { CallHead } from "@hearth-and-keep/http-service";
import { requestFailure } from "../failures.ts";
import { isSameOrigin } from "./allowed-sites.ts";

/**
 * A browser adds the Basic password that a person once typed to whatever is sent here, also when another page sends
 * it. So where something changes, a browser's Basic counts only from a page of this very origin. Programs that are no
 * browsers send none of the headers that browsers cannot leave out, and keep their Basic everywhere.
 */
export function refuseAmbient({ method, headers }: CallHead): void {
  if (method === "GET" || method === "HEAD" || method === "OPTIONS") return;
  if (!isBasic(headers["authorization"]) || !isOfBrowser(headers)) return;
  const { host, origin } = headers;
  if (typeof host === "string" && typeof origin === "string" && isSameOrigin(origin, host)) return;
  throw requestFailure({ kind: "site-forbidden", header: "origin" });
}

function isBasic(header: string | readonly string[] | undefined): boolean {
  return [header ?? []].flat().some((text) => /^\s*basic\b/iu.test(text));
}

/** Not by `Sec-Fetch-Mode`: Node's own fetch sends it too. */
function isOfBrowser(headers: CallHead["headers"]): boolean {
  return headers["origin"] !== undefined || headers["sec-fetch-site"] !== undefined;
}
