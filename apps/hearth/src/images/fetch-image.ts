import { type Outbound, OutboundProblem, type OutboundReason } from "@hearth-and-keep/outbound-http";
import type { Problem } from "./image-size.ts";

export type FetchImage = (address: string, bounds: FetchBounds) => Promise<Buffer | Problem>;

type FetchBounds = { readonly mostBytes: number; readonly signal: AbortSignal };

export type FetchImageParts = {
  /** As `images.example` for its usual port, or `images.example:8443`. */
  readonly hosts: readonly string[];
  /** One that calls no private address, whatever is listed. */
  readonly outbound: Pick<Outbound, "request">;
};

const mostRedirects = 3;
const mostSeconds = 10;
const mostAddressCharacters = 8192;
const redirectStatuses = new Set([301, 302, 303, 307, 308]);

/** Fetches from the hosts that were named and from nobody else; every redirect is asked the same questions. */
export function createImageFetcher({ hosts, outbound }: FetchImageParts): FetchImage {
  const allowed = new Set(hosts.map(readHost));
  return async (address, { mostBytes, signal }) => {
    const timeout = AbortSignal.timeout(mostSeconds * 1000);
    try {
      const first = judge(address.slice(0, mostAddressCharacters), undefined, allowed);
      return await follow(first, {
        allowed,
        outbound,
        mostBytes,
        signal: AbortSignal.any([signal, timeout]),
      });
    } catch (problem) {
      signal.throwIfAborted();
      if (timeout.aborted) return { problem: words["timed-out"] };
      if (problem instanceof OutboundProblem) return { problem: words[problem.reason] };
      throw problem;
    }
  };
}

type FollowParts = FetchBounds &
  Pick<FetchImageParts, "outbound"> & { readonly allowed: ReadonlySet<string> };

async function follow(first: URL | Problem, parts: FollowParts): Promise<Buffer | Problem> {
  const { outbound, mostBytes, signal, allowed } = parts;
  let url = first;
  for (let redirects = 0; redirects <= mostRedirects; redirects += 1) {
    if ("problem" in url) return url;
    await using answer = await outbound.request(url, { mostRedirects: 0, idleSeconds: mostSeconds, signal });
    if (answer.status === 200) return await answer.readWhole(mostBytes);
    if (!redirectStatuses.has(answer.status)) {
      return { problem: `is an address whose host answers with status ${answer.status}, not with an image` };
    }
    url = judge(String(answer.headers["location"] ?? ""), url, allowed);
  }
  return { problem: words["redirects-too-many"] };
}

/** One parser decides: what it takes for the host is what is looked up in the list and what is called. */
function judge(address: string, from: URL | undefined, allowed: ReadonlySet<string>): URL | Problem {
  const url = URL.parse(address, from?.href);
  if (url === null) return { problem: "is no address" };
  if (url.protocol !== "https:") return { problem: words["plain-forbidden"] };
  if (url.username !== "" || url.password !== "") return { problem: words["scheme-forbidden"] };
  const isAllowed = allowed.has(`${url.hostname}:${url.port || "443"}`);
  return isAllowed ? url : { problem: notListed(url.host, from) };
}

function notListed(host: string, from: URL | undefined): string {
  const what = from === undefined ? "is an address of" : "is an address that leads on to";
  return `${what} "${host.slice(0, 256)}", from where nothing is fetched; it would have to be named in --image-hosts when the server is started`;
}

/** Spelled as `URL` spells it; what is no host is nobody's. */
function readHost(entry: string): string {
  const url = URL.parse(`https://${entry}`);
  return url === null ? "" : `${url.hostname}:${url.port || "443"}`;
}

const unreachable = "is an address whose host cannot be reached";
const words: Readonly<Record<OutboundReason, string>> = {
  "scheme-forbidden": "is an address with a name or a password in it, which is not fetched",
  "plain-forbidden": "must be an address by https",
  "address-forbidden": "is an address whose host is at a private place, which is not called",
  "redirects-too-many": `is an address that leads on more than ${mostRedirects} times`,
  "redirect-invalid": "is an address that leads nowhere",
  "no-address": unreachable,
  "connection-refused": unreachable,
  "connection-broken": unreachable,
  "certificate-untrusted": "is an address whose host has a certificate that is not to be trusted",
  "timed-out": `is an address whose host gave no image within ${mostSeconds} seconds`,
  "answer-too-large": "is an address of more than an image may have; at most 20 MiB are fetched",
  "answer-packed": "is an address whose host packs what it sends; it was asked not to",
};
