import { isIP } from "node:net";
import { FailureError } from "@hearth-and-keep/failures";
import { isInRanges } from "../authorization/addresses.ts";
import type { Failure } from "../failures.ts";

const loopback = ["127.0.0.0/8", "::1/128"];
const ownNetwork = [...loopback, "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"];

/** Where people reach Keep. Cookies and codes travel there, so in clear only on this machine. */
export function readPublicUrl(text: string): URL {
  const url = URL.parse(text);
  const isOrigin = url !== null && `${url.origin}/` === url.href && /^https?:$/u.test(url.protocol);
  if (!isOrigin) throw new FailureError<Failure>({ kind: "public-url-invalid", given: shown(url) });
  if (url.protocol === "http:" && !isHostIn(url, loopback)) {
    throw new FailureError<Failure>({ kind: "public-url-insecure", given: url.origin });
  }
  return url;
}

/** A provider's address as it was set. In clear only on this machine, or an address of a network of one's own. */
export function readProviderAddress(setting: string, text: string): URL {
  const url = URL.parse(text);
  const isUsable =
    url !== null &&
    url.username === "" &&
    url.password === "" &&
    url.search === "" &&
    url.hash === "" &&
    (url.protocol === "https:" || (url.protocol === "http:" && isHostIn(url, ownNetwork)));
  if (!isUsable) throw new FailureError<Failure>({ kind: "provider-address-unusable", setting });
  return url;
}

export function isLoopback(url: URL): boolean {
  return isHostIn(url, loopback);
}

function isHostIn(url: URL, ranges: readonly string[]): boolean {
  const host = url.hostname.replaceAll(/^\[|\]$/gu, "");
  return host === "localhost" || (isIP(host) !== 0 && isInRanges(ranges, host));
}

/** Without what may be a password. */
function shown(url: URL | null): string {
  return url === null ? "" : url.host;
}
