import type { RequestHead } from "@hearth-and-keep/http-service";
import { requestFailure } from "../failures.ts";
import { type AllowedSites, isAllowedHost, isAllowedOrigin, isSameOrigin } from "./allowed-sites.ts";

/**
 * Rejects requests from pages of other sites that happen to be open in a browser: DNS rebinding shows in `Host`, other
 * origins in `Origin`, or in `Sec-Fetch-Site` where a browser omits `Origin`. Clients that are not browsers send neither
 * of the last two.
 */
export function rejectCrossSite(head: RequestHead, sites: AllowedSites): void {
  const { host, origin } = head.headers;
  // Only HTTP/1.0 allows requests without Host, which no browser sends.
  if (host === undefined && origin === undefined && isNotCrossSite(head)) return;
  if (typeof host !== "string" || !isAllowedHost(host, sites)) {
    throw requestFailure({ kind: "site-forbidden", header: "host" });
  }
  const isAllowed =
    origin === undefined
      ? isSafeMethod(head) || isNotCrossSite(head)
      : typeof origin === "string" &&
        isAllowedOrigin(origin, host, sites) &&
        (isSameOrigin(origin, host) || !isSimple(head));
  if (!isAllowed) throw requestFailure({ kind: "site-forbidden", header: "origin" });
}

function isSafeMethod({ method }: RequestHead): boolean {
  return method === "GET" || method === "HEAD" || method === "OPTIONS";
}

/** `none` means user-initiated: a typed URL or a bookmark. */
function isNotCrossSite({ headers }: RequestHead): boolean {
  const site = headers["sec-fetch-site"];
  return site === undefined || site === "same-origin" || site === "none";
}

const simpleContentTypes = ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""];

/** A body that browsers send to other sites without a preflight; JSON from there must be declared as JSON. */
function isSimple(head: RequestHead): boolean {
  if (isSafeMethod(head)) return false;
  const { headers } = head;
  const length = headers["content-length"];
  if (headers["transfer-encoding"] === undefined && (length === undefined || length === "0")) return false;
  const type = String(headers["content-type"] ?? "");
  return simpleContentTypes.includes((type.split(";", 1)[0] ?? "").trim().toLowerCase());
}
