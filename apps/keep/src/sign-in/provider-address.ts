import { isIP } from "node:net";
import { FailureError } from "@hearth-and-keep/failures";
import { isInRanges } from "../authorization/addresses.ts";
import type { Failure } from "../failures.ts";

const loopback = ["127.0.0.0/8", "::1/128"];
const privateNetworks = [...loopback, "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"];

/** Parses the public URL. Session cookies are sent to it, so plain http is allowed only on loopback. */
export function readPublicUrl(text: string): URL {
  const url = URL.parse(text);
  const isOrigin = url !== null && `${url.origin}/` === url.href && /^https?:$/u.test(url.protocol);
  if (!isOrigin) throw new FailureError<Failure>({ kind: "public-url-invalid", given: hostOf(url) });
  if (url.protocol === "http:" && !isHostIn(url, loopback)) {
    throw new FailureError<Failure>({ kind: "public-url-insecure", given: url.origin });
  }
  return url;
}

/** Parses a provider's configured URL. Plain http is allowed only on loopback and private addresses. */
export function readProviderAddress(setting: string, text: string): URL {
  const url = URL.parse(text);
  const isUsable =
    url !== null &&
    url.username === "" &&
    url.password === "" &&
    url.search === "" &&
    url.hash === "" &&
    (url.protocol === "https:" || (url.protocol === "http:" && isHostIn(url, privateNetworks)));
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

/** Leaves out user info, which may contain a password. */
function hostOf(url: URL | null): string {
  return url === null ? "" : url.host;
}
