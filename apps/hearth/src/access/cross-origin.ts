import type { BufferedResponse, RequestHead } from "@hearth-and-keep/http-service";
import { isAllowedHost, isAllowedOrigin, loopbackSites } from "./allowed-sites.ts";
import { type Access, authenticate } from "./authenticate.ts";
import { rejectCrossSite } from "./reject-cross-site.ts";

const windows = ["requests", "tokens"];
const parts = ["limit", "remaining", "reset"];
const exposedHeaders = [
  "x-request-id",
  "request-id",
  "x-context-truncated",
  "retry-after",
  "hearth-ignored",
  "hearth-runs-on",
  "hearth-queue-position",
  "hearth-queue-seconds",
  ...windows.flatMap((window) => parts.map((part) => `x-ratelimit-${part}-${window}`)),
  ...windows.flatMap((window) => parts.map((part) => `anthropic-ratelimit-${window}-${part}`)),
].join(", ");
const methods = "GET, HEAD, POST, PUT, PATCH, DELETE";
const preflightSeconds = "600";

/** CORS headers that let an allowed page read the response. Credentials are never allowed. */
export function crossOriginHeaders(head: RequestHead, access: Access): Readonly<Record<string, string>> {
  const origin = allowedOriginOf(head, access);
  if (origin === undefined) return { vary: "origin" };
  return {
    vary: "origin",
    "access-control-allow-origin": origin,
    "access-control-expose-headers": exposedHeaders,
  };
}

/** Preflight requests need no API key, because browsers send them without one. Any other OPTIONS needs one. */
export function handlePreflight(head: RequestHead, access: Access): BufferedResponse {
  const { headers } = head;
  if (headers["origin"] === undefined || headers["access-control-request-method"] === undefined) {
    authenticate(head, access);
    return { status: 204 };
  }
  rejectCrossSite(head, access.sites ?? loopbackSites);
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

function allowedOriginOf({ headers }: RequestHead, { sites = loopbackSites }: Access): string | undefined {
  const { host, origin } = headers;
  if (typeof host !== "string" || typeof origin !== "string" || !isAllowedHost(host, sites)) return undefined;
  return isAllowedOrigin(origin, host, sites) ? origin : undefined;
}

/** Allows whatever headers a page asks for, because clients send many headers of their own. */
function allowedHeaders(requested: string | readonly string[] | undefined): Readonly<Record<string, string>> {
  const isList = typeof requested === "string" && /^[a-z0-9!#$%&'*+.^_`|~, -]{1,2048}$/iu.test(requested);
  return isList ? { "access-control-allow-headers": requested } : {};
}
