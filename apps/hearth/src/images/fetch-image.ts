import { type Outbound, OutboundError, type OutboundReason } from "@hearth-and-keep/outbound-http";
import type { RejectedImage } from "./image-size.ts";

export type FetchImage = (url: string, limits: FetchLimits) => Promise<Buffer | RejectedImage>;

type FetchLimits = { readonly maxBytes: number; readonly signal: AbortSignal };

export type ImageFetcherOptions = {
  /** E.g. `images.example` for port 443, or `images.example:8443`. */
  readonly hosts: readonly string[];
  /** Must not connect to private addresses, even for listed hosts. */
  readonly outbound: Pick<Outbound, "request">;
};

const maxRedirects = 3;
const timeoutSeconds = 10;
const maxUrlLength = 8192;
const redirectStatuses = new Set([301, 302, 303, 307, 308]);

/** Fetches from the listed hosts only, and checks every redirect the same way. */
export function createImageFetcher({ hosts, outbound }: ImageFetcherOptions): FetchImage {
  const allowed = new Set(hosts.map(readHost));
  return async (text, { maxBytes, signal }) => {
    const timeout = AbortSignal.timeout(timeoutSeconds * 1000);
    try {
      const first = checkUrl(text.slice(0, maxUrlLength), undefined, allowed);
      return await follow(first, {
        allowed,
        outbound,
        maxBytes,
        signal: AbortSignal.any([signal, timeout]),
      });
    } catch (error) {
      signal.throwIfAborted();
      if (timeout.aborted) return { reason: reasons["timed-out"] };
      if (error instanceof OutboundError) return { reason: reasons[error.reason] };
      throw error;
    }
  };
}

type FollowOptions = FetchLimits &
  Pick<ImageFetcherOptions, "outbound"> & { readonly allowed: ReadonlySet<string> };

async function follow(first: URL | RejectedImage, options: FollowOptions): Promise<Buffer | RejectedImage> {
  const { outbound, maxBytes, signal, allowed } = options;
  let url = first;
  for (let redirects = 0; redirects <= maxRedirects; redirects += 1) {
    if ("reason" in url) return url;
    await using response = await outbound.request(url, {
      maxRedirects: 0,
      idleSeconds: timeoutSeconds,
      signal,
    });
    if (response.status === 200) return await response.readAll(maxBytes);
    if (!redirectStatuses.has(response.status)) {
      return { reason: `cannot be fetched: its host responded with status ${response.status}` };
    }
    url = checkUrl(String(response.headers["location"] ?? ""), url, allowed);
  }
  return { reason: reasons["redirects-too-many"] };
}

/** The same parsed URL is checked against the list and connected to, so that two parsers cannot disagree. */
function checkUrl(text: string, from: URL | undefined, allowed: ReadonlySet<string>): URL | RejectedImage {
  const url = URL.parse(text, from?.href);
  if (url === null) return { reason: "is not a valid URL" };
  if (url.protocol !== "https:") return { reason: reasons["plain-forbidden"] };
  if (url.username !== "" || url.password !== "") return { reason: reasons["scheme-forbidden"] };
  const isAllowed = allowed.has(`${url.hostname}:${url.port || "443"}`);
  return isAllowed ? url : { reason: notListed(url.host, from) };
}

function notListed(host: string, from: URL | undefined): string {
  const subject = from === undefined ? "has the host" : "redirects to the host";
  return `${subject} "${host.slice(0, 256)}", which is not in --image-hosts; start the server with it to allow fetching`;
}

/** Normalized as `URL` does it. An invalid entry becomes an empty string, which no URL matches. */
function readHost(entry: string): string {
  const url = URL.parse(`https://${entry}`);
  return url === null ? "" : `${url.hostname}:${url.port || "443"}`;
}

const unreachable = "cannot be fetched: its host is unreachable";
const reasons: Readonly<Record<OutboundReason, string>> = {
  "scheme-forbidden": "contains credentials, which is not allowed",
  "plain-forbidden": "must be an https URL",
  "address-forbidden": "cannot be fetched: its host resolves to a private address",
  "redirects-too-many": `cannot be fetched: more than ${maxRedirects} redirects`,
  "redirect-invalid": "cannot be fetched: invalid redirect",
  "no-address": unreachable,
  "connection-refused": unreachable,
  "connection-broken": unreachable,
  "certificate-untrusted": "cannot be fetched: the TLS certificate of its host is not trusted",
  "timed-out": `cannot be fetched: timed out after ${timeoutSeconds} seconds`,
  "response-too-large": "cannot be fetched: it exceeds 20 MiB",
  "response-compressed": "cannot be fetched: its host sent a compressed response",
};
