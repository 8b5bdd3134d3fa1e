import type { CallHead, WholeAnswer } from "@hearth-and-keep/http-service";
import { type Access, admit } from "./admit.ts";
import { isAllowedHost, isAllowedOrigin, loopbackSites } from "./allowed-sites.ts";
import { refuseOtherSites } from "./refuse-other-sites.ts";

const readableHeaders = "x-request-id, request-id, x-context-truncated, retry-after";
const methods = "GET, HEAD, POST, PUT, PATCH, DELETE";
const preflightSeconds = "600";

/** What lets an allowed page read the answer. No credentials: a browser's cookies and passwords are not for pages. */
export function crossOriginHeaders(head: CallHead, access: Access): Readonly<Record<string, string>> {
  const origin = allowedOriginOf(head, access);
  if (origin === undefined) return { vary: "origin" };
  return {
    vary: "origin",
    "access-control-allow-origin": origin,
    "access-control-expose-headers": readableHeaders,
  };
}

/** The one question that needs no key, because browsers ask it without; any other OPTIONS needs one. */
export function answerPreflight(head: CallHead, access: Access): WholeAnswer {
  const { headers } = head;
  if (headers["origin"] === undefined || headers["access-control-request-method"] === undefined) {
    admit(head, access);
    return { status: 204 };
  }
  refuseOtherSites(head, access.sites ?? loopbackSites);
  return {
    status: 204,
    headers: {
      "access-control-allow-methods": methods,
      "access-control-max-age": preflightSeconds,
      ...allowedHeaders(headers["access-control-request-headers"]),
      ...(headers["access-control-request-private-network"] === "true"
        ? { "access-control-allow-private-network": "true" }
        : {}),
    },
  };
}

function allowedOriginOf({ headers }: CallHead, { sites = loopbackSites }: Access): string | undefined {
  const { host, origin } = headers;
  if (typeof host !== "string" || typeof origin !== "string" || !isAllowedHost(host, sites)) return undefined;
  return isAllowedOrigin(origin, host, sites) ? origin : undefined;
}

/** A page that may call may send what it likes; clients name a dozen headers of their own. */
function allowedHeaders(asked: string | readonly string[] | undefined): Readonly<Record<string, string>> {
  const isList = typeof asked === "string" && /^[a-z0-9!#$%&'*+.^_`|~, -]{1,2048}$/iu.test(asked);
  return isList ? { "access-control-allow-headers": asked } : {};
}
