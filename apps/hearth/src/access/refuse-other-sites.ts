import type { CallHead } from "@hearth-and-keep/http-service";
import { requestFailure } from "../failures.ts";
import { isAllowedHost, isAllowedOrigin, isSameOrigin, type Sites } from "./allowed-sites.ts";

/**
 * Keeps out pages that a person only happens to have open: those whose own name was pointed at this machine (they
 * show in `Host`), and those of other sites (in `Origin`, or in `Sec-Fetch-Site` where a browser leaves that out).
 * Programs that are no browsers send neither of the last two.
 */
export function refuseOtherSites(head: CallHead, sites: Sites): void {
  const { host, origin } = head.headers;
  if (typeof host !== "string" || !isAllowedHost(host, sites)) {
    throw requestFailure({ kind: "site-forbidden", header: "host" });
  }
  const isAllowed =
    origin === undefined
      ? changesNothing(head) || comesFromNoOtherSite(head)
      : typeof origin === "string" &&
        isAllowedOrigin(origin, host, sites) &&
        (isSameOrigin(origin, host) || !isSimple(head));
  if (!isAllowed) throw requestFailure({ kind: "site-forbidden", header: "origin" });
}

function changesNothing({ method }: CallHead): boolean {
  return method === "GET" || method === "HEAD" || method === "OPTIONS";
}

/** `none` is the person's own doing: an address typed, a bookmark. */
function comesFromNoOtherSite({ headers }: CallHead): boolean {
  const site = headers["sec-fetch-site"];
  return site === undefined || site === "same-origin" || site === "none";
}

const simpleTypes = ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""];

/** A body that a browser sends to another site without asking first; from there JSON has to be called so. */
function isSimple(head: CallHead): boolean {
  if (changesNothing(head)) return false;
  const { headers } = head;
  const length = headers["content-length"];
  if (headers["transfer-encoding"] === undefined && (length === undefined || length === "0")) return false;
  const type = String(headers["content-type"] ?? "");
  return simpleTypes.includes((type.split(";", 1)[0] ?? "").trim().toLowerCase());
}
